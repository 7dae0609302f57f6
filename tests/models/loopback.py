"""Small real servers on the loopback interface, speaking what a test wants."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from aiohttp import web

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.chat import Completions

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """The base URL of a server that gives every request to ``handler``."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        await runner.cleanup()


@contextmanager
def in_thread(handler: Handler) -> Iterator[str]:
    """The same in a thread with a loop of its own, for callers that run theirs."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    begun, address = threading.Event(), list[str]()

    async def work() -> None:
        async with serving(handler) as url:
            address.append(url)
            begun.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(work(),), daemon=True)
    thread.start()
    assert begun.wait(20)
    try:
        yield address[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()


@contextmanager
def threaded(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address (no path) of a plain server of the standard library; its requests are not logged."""
    handler.log_message = lambda *_: None  # type: ignore[method-assign]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run one coroutine in a loop of its own, bounded."""
    return asyncio.run(asyncio.wait_for(work, 60))


WEATHER = {
    "name": "weather.lookup",
    "description": "Tells the weather of a town.",
    "parameters": {
        "type": "dict",
        "properties": {
            "town": {"type": "string", "description": "Name of the town."},
            "degrees": {"type": "float", "description": "Highest temperature."},
            "days": {"type": "array", "items": {"type": "integer"}, "description": "Which days."},
        },
        "required": ["town"],
    },
}
CLOCK = {
    "name": "clock",
    "description": "Tells the time.",
    "parameters": {"type": "dict", "properties": {"zone": {"type": "string"}}, "required": []},
}


def request(*functions: dict[str, Any], text: str = "How is the weather in Bern?", **fields: Any) -> Request:
    """A single-turn request about the given functions."""
    messages = [{"role": "user", "content": text}]
    entry = Entry(id="simple_python_0", category="simple_python", question=[messages], function=list(functions))
    return Request(entry, list(messages), list(functions), **fields)


class Prompted(Completions):
    """Text completions of one prompt."""

    def body(self, request: Request, *, tools: bool) -> dict[str, Any]:
        return {"prompt": "p"}


def completion(message: dict[str, Any], finish: str = "stop", **usage: int) -> dict[str, Any]:
    """A chat-completions answer."""
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
        "usage": usage or {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }  # fmt: skip


def tool_call(name: str, arguments: Any, call_id: str | None = "c1") -> dict[str, Any]:
    """One entry of ``tool_calls``."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function", "function": {"name": name, "arguments": text}} | ({"id": call_id} if call_id else {})
