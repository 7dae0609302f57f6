"""Entries: categories, loading, expansion, checks. Open a set with `open_dataset`, index a category, load an entry."""
