"""Runs in the formats and places of others: exports, sinks, a pull request's comment."""
