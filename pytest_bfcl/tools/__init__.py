"""Documents of tools: their schemas, patterns in them, and how functions, MCP servers and SDKs give them."""
