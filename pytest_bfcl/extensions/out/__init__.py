"""Runs in the formats and places of other tools: exports, sinks, a pull request's comment."""
