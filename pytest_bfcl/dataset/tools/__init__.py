"""Function documents from what describes tools elsewhere: OpenAPI, MCP servers, Python functions, tools of SDKs."""
