"""Entries to train on: episodes and rewards, trainers' doors, splits, contamination, outputs judged in pieces."""
