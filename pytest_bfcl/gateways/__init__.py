"""Doors through which a whole agent plays an entry: Python callables, an MCP server, plain messages."""

from pytest_bfcl.gateways.agents import AgentModel, as_agent
from pytest_bfcl.gateways.episode import Episode
from pytest_bfcl.gateways.tools import Tool

__all__ = ["AgentModel", "Episode", "Tool", "as_agent"]
