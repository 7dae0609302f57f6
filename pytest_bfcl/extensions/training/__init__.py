"""Training on entries: episodes and rewards, trainers, splits, contamination, outputs judged in pieces."""
