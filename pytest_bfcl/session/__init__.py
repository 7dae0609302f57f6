"""The one run: models and entries in, lines, summary and exit code out. Knows no pytest; any event loop drives it."""
