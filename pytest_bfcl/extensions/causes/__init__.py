"""Why entries failed: recurring differences from the expected calls, proved by undoing them (docs/causes.md)."""
