"""An OpenAI-compatible server that answers entries of a data set rightly, for trainers' own loops (native calls)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from aiohttp import web

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.training import Episode
from tests.models.loopback import completion, in_thread, tool_call


class Oracle:
    """Which entry a request is about is told by what the user has said so far and by the tools offered."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.known = [_Known(entry) for entry in entries]
        self.asked = 0

    @property
    def told_apart(self) -> list[Entry]:
        """The entries that no other begins like."""
        begins = Counter((known.words, known.tools) for known in self.known)
        return [known.entry for known in self.known if begins[known.words, known.tools] == 1]

    def _entry(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Entry:
        """The entry that has all this said and began with these tools, or with fewer that have grown since."""
        said, names = {str(each["content"]) for each in messages if each["role"] == "user"}, _names(tools)
        fitting = [known for known in self.known if known.words == _first(messages) and said <= known.said]
        exact = [known for known in fitting if known.tools == names]
        return (exact or [known for known in fitting if known.tools < names])[0].entry

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        messages = request["messages"]
        entry = self._entry(messages, request.get("tools") or [])
        roles = [message["role"] for message in messages]
        turn = sum(now == "user" and before in ("assistant", "tool") for before, now in pairwise(roles))
        last = max(number for number, role in enumerate(roles) if role == "user")
        said = answer(entry, "fc", turn, roles[last:].count("assistant"))
        calls = [tool_call(call.name, call.arguments, f"call_{n}") for n, call in enumerate(said.tool_calls)]
        message = {"content": said.text, **({"tool_calls": calls} if calls else {})}
        self.asked += 1
        return completion(message, "tool_calls" if calls else "stop")


class _Known:
    """What an entry begins with, and all that its user will say."""

    def __init__(self, entry: Entry) -> None:
        messages, tools = Episode(entry).reset()
        self.entry = entry
        self.words, self.tools = _first(messages), _names(tools)
        self.said = {str(each["content"]) for turn in (*entry.question, messages) for each in turn}
        if entry.missed_function:
            self.said.add(Texts.own().additional_functions_fc)


def _names(tools: list[dict[str, Any]]) -> frozenset[str]:
    return frozenset(tool["function"]["name"] for tool in tools)


def _first(messages: list[dict[str, Any]]) -> str:
    return next(str(message["content"]) for message in messages if message["role"] == "user")


@contextmanager
def serving_oracle(entries: Iterable[Entry]) -> Iterator[tuple[str, Oracle]]:
    """Base URL of an OpenAI-compatible server, and what it was asked."""
    oracle = Oracle(entries)

    async def handle(request: web.Request) -> web.Response:
        return web.json_response(oracle.reply(await request.json()))

    with in_thread(handle) as url:
        yield url, oracle
