"""Selects the entries of a run: categories, ids, samples, splits by family, shards."""
