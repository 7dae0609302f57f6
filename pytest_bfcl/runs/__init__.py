"""The run directory: append-only results, journal, snapshots; resume, import, export, merge."""
