"""A verdict in words: one reading of its details for terminal, pages and summaries."""
