"""The meaning of an endpoint's errors, and how the run continues: retry, wait, send fewer at a time, or stop."""
