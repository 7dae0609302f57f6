"""Runs in the formats of other tools: exports, sinks, a pull request's comment."""
