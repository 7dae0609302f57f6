"""Doors through which a whole agent plays an entry: Python callables, an MCP server, plain messages."""

from pytest_bfcl.extensions.agents.episode import Episode
from pytest_bfcl.extensions.agents.factories import AgentModel, AgentProvider, as_agent
from pytest_bfcl.extensions.agents.tools import Tool

__all__ = ["AgentModel", "Episode", "Tool", "as_agent"]

provider = AgentProvider()
"""The entry point ``agent`` of the group ``pytest_bfcl.models``."""
