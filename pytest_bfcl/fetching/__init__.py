"""Downloads into the user's cache: the official data and its texts; our own texts that replace them."""
