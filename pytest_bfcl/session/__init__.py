"""One run: models and entries in; lines, summary and exit code out. Does not import pytest; any event loop drives
it."""
