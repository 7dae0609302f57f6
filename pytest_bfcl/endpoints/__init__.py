"""What an endpoint's trouble means, and how the run continues: again, later, fewer at a time, or no more."""
