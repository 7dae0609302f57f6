"""Judges recorded verdicts again: what is equal, what differs, and why."""
