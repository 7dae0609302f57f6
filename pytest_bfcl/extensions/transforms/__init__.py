"""Rephrased entries: other names, other orders, other letters, tools that distract (docs/robustness.md)."""
