"""A chat-completions server that knows the right answer and bends it: one planted fault at a time, over HTTP."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from aiohttp import web

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.tools.schemas import wire_name


@dataclass
class Said:
    """One reply before it is sent. ``calls`` are ``[name, arguments text]``; ``seen`` is what counts as prompt."""

    entry: Entry
    turn: int
    step: int
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    calls: list[list[str]] = field(default_factory=list)
    text: str | None = None
    reasoning: str | None = None
    finish: str = "stop"
    seen: Any = None
    number: int = 0
    streamed: bool = False
    version: str | None = None

    @cached_property
    def rng(self) -> random.Random:
        return random.Random(f"{self.entry.id}/{self.turn}/{self.step}")

    @property
    def question(self) -> str:
        return " ".join(str(each["content"]) for each in self.messages if each["role"] == "user")

    def each_arguments(self, change: Callable[[dict[str, Any]], Any]) -> None:
        """Change the arguments of every call."""
        for call in self.calls:
            call[1] = json.dumps(change(json.loads(call[1])), ensure_ascii=False)

    def each_value(self, change: Callable[[Any], Any]) -> None:
        """Change every value that is not an object or a list, however deep."""
        self.each_arguments(lambda given: _mapped(given, change))

    def schema(self, name: str) -> dict[str, Any]:
        """The parameters of a tool as it was sent."""
        return next((t["function"]["parameters"] for t in self.tools if t["function"]["name"] == name), {})


def _text(message: dict[str, Any]) -> str:
    return str(message["content"])


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(each, change) for key, each in value.items()}
    if isinstance(value, list):
        return [_mapped(each, change) for each in value]
    return change(value)


Bend = Callable[[Said], None]


def _streamed(told: dict[str, Any]) -> web.Response:
    """A whole reply as one piece of a stream."""
    (choice,) = told["choices"]
    calls = [{"index": n, **call} for n, call in enumerate(choice["message"].get("tool_calls") or [])]
    delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
    piece = {**told, "object": "chat.completion.chunk", "choices": [{**choice, "delta": delta}]}
    return web.Response(
        text=f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n", content_type="text/event-stream", charset="utf-8"
    )


class FaultyServer:
    """Answers every entry of a data set right, then applies ``bend``."""

    def __init__(self, data: str = "bundled") -> None:
        self.url = ""
        self.bend: Bend = lambda said: None
        self.asked = 0
        self._entries: dict[str, list[tuple[list[str], frozenset[str], Entry]]] = {}
        dataset = open_data(data)
        for name in dataset.categories():
            for ref in dataset.index(name):
                entry = dataset.load(ref)
                asked = [_text(each) for turn in entry.question for each in turn if each["role"] == "user"]
                tools = frozenset(wire_name(str(each["name"])) for each in entry.function)
                if asked:
                    self._entries.setdefault(asked[0], []).append((asked, tools, entry))

    def find(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Entry:
        names = frozenset(str(each["function"]["name"]) for each in tools)
        heard = [_text(each) for each in messages if each["role"] == "user"]
        found = self._entries[heard[0]]
        if set(heard) - {text for asked, _, _ in found for text in asked}:  # a function was handed over
            found = [each for each in found if [] in each[2].question] or found
        else:
            found = [each for each in found if each[1] == names] or found
        return max(found, key=lambda each: (len(set(heard) & set(each[0])), each[1] == names))[2]

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        messages, tools = body["messages"], body.get("tools") or []
        roles = [each["role"] for each in messages]
        turn = sum(now == "user" and before != "user" for before, now in zip(["", *roles], roles, strict=False)) - 1
        step = len(roles) - 1 - max(i for i, role in enumerate(roles) if role == "user")
        step = sum(role == "assistant" for role in roles[len(roles) - step :])
        entry = self.find(messages, tools)
        right = answer(entry, "fc" if tools else "prompt", turn, step)
        said = Said(entry, turn, step, messages, tools, seen=[messages, tools], number=self.asked)
        said.streamed = bool(body.get("stream"))
        said.calls = [[call.name, call.arguments] for call in right.tool_calls]
        said.text = right.text
        self.asked += 1
        self.bend(said)
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.reasoning is not None:
            message["reasoning_content"] = said.reasoning
        if said.calls:
            message["tool_calls"] = [
                {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
                for n, (name, arguments) in enumerate(said.calls)
            ]
            said.finish = "tool_calls" if said.finish == "stop" else said.finish
        tokens = len(json.dumps(said.seen)) // 4
        told = {
            "id": f"r{self.asked}", "object": "chat.completion", "model": "faulty", "system_fingerprint": said.version,
            "choices": [{"index": 0, "message": message, "finish_reason": said.finish}],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20},
        }  # fmt: skip
        return _streamed(told) if said.streamed else web.json_response(told)

    async def start(self) -> web.AppRunner:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/chat/completions", self.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"
        return runner


@contextmanager
def serving(data: str = "bundled") -> Iterator[FaultyServer]:
    """The server in a thread of its own."""
    server, loop = FaultyServer(data), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
