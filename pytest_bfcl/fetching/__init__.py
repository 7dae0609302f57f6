"""What is fetched into the user's cache: the official data and its texts; our own words in their place."""
