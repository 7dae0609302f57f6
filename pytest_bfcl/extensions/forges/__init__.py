"""Runs in pull and merge requests: one comment kept up to date, and the main branch's run as the baseline."""
