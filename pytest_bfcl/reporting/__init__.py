"""Writes reports of finished runs, HTML and Markdown, from the run directory."""
