"""Entries on users' own MCP servers: a session and a directory for every trial (docs/own-entries.md)."""
