"""Agents without a library: they know the ground truth, and each goes through another door."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.agents import AgentEntry
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.oracle import OracleModel
from pytest_bfcl.models.spec import parse_spec

Calls = list[tuple[str, dict[str, Any]]]


class Script:
    """What the oracle calls in each turn of an entry, by the agent's id of the entry."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        self.entries = entries
        self.oracle = OracleModel(parse_spec("oracle:"), "fc")

    async def turn(self, episode: AgentEntry, turn: int) -> tuple[Calls, str]:
        """Calls and last words."""
        entry = self.entries[episode.entry_id]
        reply = await self.oracle.generate(Request(entry, [], entry.all_functions, turn, 0))
        return [(call.name, json.loads(call.arguments)) for call in reply.tool_calls], reply.text or "done"

    def by_call(self, episode: AgentEntry) -> Callable[[str], Any]:
        """`AgentEntry.call`."""
        turns = iter(range(1000))

        async def play(message: str) -> str:
            calls, text = await self.turn(episode, next(turns))
            for name, arguments in calls:
                await episode.call(name, arguments)
            return text

        return play

    def by_tools(self, episode: AgentEntry) -> Callable[[str], Any]:
        """Async functions, all calls of a turn side by side in one step."""
        turns = iter(range(1000))

        async def play(message: str) -> str:
            calls, text = await self.turn(episode, next(turns))
            tools = {tool.name: tool for tool in episode.tools}
            await asyncio.gather(*(tools[name](**arguments) for name, arguments in calls))
            return text

        return play

    def by_sync_tools(self, episode: AgentEntry) -> Callable[[str], Any]:
        """Plain functions, called from a thread."""
        turns = iter(range(1000))

        def play(message: str) -> str:
            calls, text = asyncio.run(self.turn(episode, next(turns)))
            tools = {tool.name: tool for tool in episode.sync_tools}
            for name, arguments in calls:
                tools[name](**arguments)
            return text

        return play

    async def by_turns(self, episode: AgentEntry) -> None:
        """It goes through the turns itself."""
        number = 0
        async for _ in episode.turns():
            calls, text = await self.turn(episode, number)
            for name, arguments in calls:
                await episode.call(name, arguments)
            episode.answer(text)
            number += 1

    def by_mcp(self, episode: AgentEntry) -> Callable[[str], Any]:
        """The episode's MCP server, over HTTP."""
        turns = iter(range(1000))

        async def play(message: str) -> str:
            from mcp import Client

            calls, text = await self.turn(episode, next(turns))
            async with Client(await episode.mcp_url()) as client:
                for name, arguments in calls:
                    await client.call_tool(name, arguments)
            return text

        return play
