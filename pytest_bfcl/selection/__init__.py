"""What of a data set a run measures: categories, ids, samples, splits by family, shards."""
