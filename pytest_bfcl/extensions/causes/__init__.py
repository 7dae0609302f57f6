"""Why entries failed: failures put down to a closed list of causes, and what changed between runs."""
