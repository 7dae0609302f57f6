"""Documents of tools: their schemas, their patterns, and how to make them from functions."""
