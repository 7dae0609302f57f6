"""SQL that only reads: on tables an entry brings, on database files of a trial; what became of it."""
