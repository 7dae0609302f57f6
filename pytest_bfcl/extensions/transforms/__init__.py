"""Rephrased entries: other names, orders and letters, tools that distract (docs/robustness.md)."""
