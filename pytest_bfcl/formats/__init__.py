"""The one table of models' own formats: how each is asked and read (formats spec)."""
