"""Documents of tools: their schemas, patterns in them, and how functions give them."""
