"""Whole agents that play an entry: Python callables, an MCP server, plain messages."""

from pytest_bfcl.extensions.agents.episode import AgentEntry
from pytest_bfcl.extensions.agents.factories import AgentModel, AgentProvider, as_agent
from pytest_bfcl.extensions.agents.tools import Tool

__all__ = ["AgentEntry", "AgentModel", "Tool", "as_agent"]

provider = AgentProvider()
"""The entry point ``agent`` of the group ``pytest_bfcl.models``."""
