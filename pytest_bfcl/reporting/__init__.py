"""Reports of finished runs: HTML and Markdown, each from a run directory to a file."""
