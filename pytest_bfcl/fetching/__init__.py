"""What is fetched into the user's cache: the official data, its texts, and weights; our own words in their place."""
