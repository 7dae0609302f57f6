"""Why entries failed: what differs from the calls due and recurs, proved by undoing it (docs/causes.md)."""
