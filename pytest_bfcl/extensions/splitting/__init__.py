"""Parting entries to train on from entries to test with: what belongs together stays together (docs/splits.md)."""
