"""Work on data and scores: defects found and proved, official scores judged again."""
