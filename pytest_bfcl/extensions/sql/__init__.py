"""Read-only SQL: on tables of an entry, on database files of a trial; its outcome."""
