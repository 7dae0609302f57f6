"""Verdicts in words: one reading of their details for terminal, pages and summaries."""
