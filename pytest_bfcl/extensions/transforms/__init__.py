"""Entries put otherwise: other names, other orders, other letters, tools that distract (docs/robustness.md)."""
