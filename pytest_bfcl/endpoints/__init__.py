"""What an endpoint's trouble means, and how it is asked all the same: again, later, fewer at a time, or no more."""
