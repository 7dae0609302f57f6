"""Work on data and scores: finding defects, proving scores, making own entries."""
