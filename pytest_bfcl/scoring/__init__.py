"""Aggregation: category accuracies, weights, error bars, gates, paired comparison."""
