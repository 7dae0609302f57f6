"""The table of models' own formats: how requests are written and replies are read (formats spec)."""
