"""Work on data and scores: defects found and proved (docs/audit.md), official scores judged again."""
