"""A server that answers as no server should: the entry's request names the attack, and that is what it gets."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

MB = 1024 * 1024
Attack = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


def chat(content: Any = None, calls: Any = None, *, usage: Any = None, finish: Any = "stop") -> dict[str, Any]:
    """A chat completion's body; calls are (name, arguments) or whole objects."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls is not None:
        message["tool_calls"] = [
            {"id": f"c{i}", "type": "function", "function": {"name": call[0], "arguments": call[1]}}
            if isinstance(call, tuple) else call
            for i, call in enumerate(calls)
        ]  # fmt: skip
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}


def deep(levels: int, open_: str = "[", close: str = "]") -> str:
    """Brackets in brackets."""
    return open_ * levels + close * levels


CONTROL = (
    "\x00\x07\x1b[31mred\x1b]0;title\x07\x1b[2J\u202eevil\u2066 \x9b31m "
    "</script><img src=x onerror=alert(1)> ]]> \ufffe"
)

TEXTS: dict[str, str] = {
    "long_text": "go " * (17 * MB),
    "text_below_limit": "a" * (3 * MB),
    "many_calls_text": "[" + ", ".join(["ring(times=1)"] * 12_000) + "]",
    "deep_text": "[ring(times=" + deep(100_000) + ")]",
    "nested_calls": "[" + "ring(times=" * 5_000 + "1" + ")" * 5_000 + "]",
    "big_number": f"[ring(times={'9' * 1_000_000})]",
    "power_bomb": "[ring(times=9**9**9**9)]",
    "code": "[__import__('os').system('touch pwned')]",
    "argument_code": "[ring(times=open('/etc/passwd').read())]",
    "dunder": "[ring.__class__.__bases__[0].__subclasses__(times=1)]",
    "keyword_dunder": "[ring(__class__=1, __init__=2)]",
    "control_text": CONTROL,
    "control_call": "[ring(times='" + CONTROL.replace("\x00", "") + "')]",
    "surrogates": "[ring(times='\ud800\udfff\udc80')] \ud83d",
    "empty": "",
    "whitespace": " \n\t" * 100_000,
    "lines": "ring(times=1)\n" * 30_000,
    "many_file_calls_text": "[" + ", ".join(["echo(content='x', file_name='f.txt')"] * 11_000) + "]",
    "xml": "<functions>" * 30_000,
    "fence": "```" * 60_000,
}

CALLS: dict[str, Any] = {
    "many_calls": [("ring", '{"times": 1}')] * 100_000,
    "deep_arguments": [("ring", '{"times": ' + deep(100_000) + "}")],
    "deep_objects": [("ring", deep(50_000, '{"a":', "}").replace(":}", ":1}", 1))],
    "long_name": [("r" * MB, '{"times": 1}')],
    "big_argument": [("ring", f'{{"times": {"9" * 1_000_000}}}')],
    "nan": [("ring", '{"times": NaN}'), ("ring", '{"times": Infinity}'), ("ring", '{"times": 1e999}')],
    "code_names": [
        ("ring(times=1) or __import__('os').system('touch pwned') #", "{}"),
        ("a\nb", "{}"),
        ("../../etc/passwd", "{}"),
        ("", "{}"),
        ("ring.__class__", "{}"),
    ],
    "code_keys": [("ring", json.dumps({"__class__": 1, "a b": 2, "times=1); import os #": 3, "": 4, "\n": 5}))],
    "duplicate_keys": [("ring", '{"times": 1, "times": 2}')],
    "control_names": [(CONTROL, json.dumps({CONTROL: CONTROL}))],
    "surrogate_names": [("\ud800", '{"\\ud800": "\\udfff"}')],
    "odd_shapes": [None, 1, "x", [], {}, {"function": None}, {"function": {"name": {"a": [1]}, "arguments": 7}},
                   {"function": {"name": "ring", "arguments": {"times": [[[1]]]}}, "id": {"a": 1}},
                   {"id": "i" * MB, "function": {"name": "ring", "arguments": "[]"}}],
    "many_keys": [("ring", json.dumps({f"k{i}": i for i in range(50_000)}))],
    "many_calls_of_files": [("echo", '{"content": "x", "file_name": "f.txt"}')] * 9_000,
    "growing_files": [("echo", json.dumps({"content": "x" * 900_000, "file_name": f"f{i}.txt"})) for i in range(3)],
    "same_ids": [{"id": "c", "function": {"name": "ring", "arguments": "{}"}}] * 3,
}  # fmt: skip

BODIES: dict[str, str] = {
    "usage_huge": json.dumps(chat("x", usage={"prompt_tokens": -5, "completion_tokens": 10**30})),
    "odd_finish": json.dumps(chat("x", finish={"a": 1})),
    "long_finish": json.dumps(chat("x", finish="stop" * 100_000)),
    "long_reasoning": json.dumps(
        {"choices": [{"message": {"content": "x", "reasoning_content": "think " * 200_000, "role": CONTROL}}]}
    ),
    "content_parts": json.dumps(chat([{"type": "text", "text": [1]}, None, {"text": "hi"}, deep(3)])),
    "duplicate_json_keys": '{"choices": [], "choices": [{"message": {"content": "a", "content": "b"}}]}',
    "deep_body": '{"choices": [{"message": {"content": ' + deep(200_000) + "}}]}",
    "deep_object_arguments": '{"choices":[{"message":{"tool_calls":[{"function":{"name":"ring","arguments":{"times":'
    + deep(900) + "}}}]}}]}",
    "number_body": '{"choices": [{"message": {"content": ' + "9" * 1_000_000 + "}}]}",
    "not_json": "<html>" + CONTROL.replace("\ufffe", "") + "</html>",
}  # fmt: skip


class EvilServer:
    """What was asked, and of whom: ``elsewhere`` counts requests that arrived where only a redirect leads."""

    def __init__(self) -> None:
        self.url = ""
        self.other = ""
        self.asked: list[str] = []
        self.elsewhere = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The attack that the last user message names."""
        body = await request.json()
        users = [message for message in body["messages"] if message["role"] == "user"]
        named = re.findall(r"attack (\w+)", " ".join(str(m["content"]) for m in users))
        attack = named[-1] if named else "empty"
        self.asked.append(attack)
        if attack in TEXTS:
            return web.json_response(chat(TEXTS[attack]))
        if attack in CALLS:
            return web.json_response(chat(None, CALLS[attack]))
        if attack in BODIES:
            return web.Response(text=BODIES[attack], content_type="application/json")
        try:
            special: web.StreamResponse = await getattr(self, attack)(request)
        except ConnectionError:  # the client had enough
            return web.Response()
        return special

    async def endless(self, request: web.Request) -> web.StreamResponse:
        """A chunked body that never ends."""
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(400):
            await response.write(b" " * MB)
        return response

    async def gzip_bomb(self, request: web.Request) -> web.StreamResponse:
        """A small body that unpacks to 300 MB."""
        squeezer = gzip.compress(b" " * (300 * MB), compresslevel=1)
        return web.Response(body=squeezer, headers={"content-encoding": "gzip", "content-type": "application/json"})

    async def slow(self, request: web.Request) -> web.StreamResponse:
        """A byte now and then."""
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(60):
            await response.write(b" ")
            await asyncio.sleep(0.1)
        return response

    async def silent(self, request: web.Request) -> web.StreamResponse:
        """Nothing at all."""
        await asyncio.sleep(60)
        return web.Response()

    async def redirect(self, request: web.Request) -> web.StreamResponse:
        """Somewhere else, with the same body and (if followed) the same key."""
        raise web.HTTPTemporaryRedirect(self.other + request.path)

    async def big_header(self, request: web.Request) -> web.StreamResponse:
        """A header of 1 MB."""
        return web.json_response(chat("x"), headers={"x-big": "h" * MB})

    async def many_headers(self, request: web.Request) -> web.StreamResponse:
        """100,000 headers."""
        return web.json_response(chat("x"), headers={f"x-{i}": "h" for i in range(100_000)})

    async def echo(self, request: web.Request) -> web.StreamResponse:
        """The key comes back in the reply."""
        said = str(dict(request.headers))
        return web.json_response(chat(said, [("ring", json.dumps({"times": said}))]))

    async def echo_error(self, request: web.Request) -> web.StreamResponse:
        """The key comes back in an error text."""
        return web.json_response({"error": {"message": f"bad key {dict(request.headers)} {request.url}"}}, status=400)

    async def odd_status(self, request: web.Request) -> web.StreamResponse:
        """A status nobody has heard of, with control characters in its text."""
        return web.Response(status=499, text=CONTROL)

    async def retry_never(self, request: web.Request) -> web.StreamResponse:
        """Wishes to be asked again in 10 million years."""
        return web.Response(status=429, headers={"retry-after": "3e14"}, text="later")

    async def _elsewhere(self, request: web.Request) -> web.StreamResponse:
        self.elsewhere += 1
        return web.json_response(chat("[ring(times=1)]"))

    async def start(self) -> list[web.AppRunner]:
        """Listen on two free loopback ports."""
        runners = []
        for handler in (self.answer, self._elsewhere):
            app = web.Application(client_max_size=256 * MB)
            app.router.add_post("/{path:.*}", handler)
            runner = web.AppRunner(app, access_log=None)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            runners.append(runner)
        ports = [runner.addresses[0][1] for runner in runners]
        self.url, self.other = (f"http://127.0.0.1:{port}" for port in ports)
        return runners


ATTACKS = [*TEXTS, *CALLS, *BODIES, "endless", "gzip_bomb", "slow", "silent", "redirect", "big_header",
           "many_headers", "echo", "echo_error", "odd_status", "retry_never"]  # fmt: skip


@contextmanager
def evil_server() -> Iterator[EvilServer]:
    """The server in a thread of its own."""
    server = EvilServer()
    loop = asyncio.new_event_loop()
    runners: list[web.AppRunner] = []

    def serve() -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    runners += asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
    try:
        yield server
    finally:

        async def stop() -> None:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.gather(*(runner.cleanup() for runner in runners), return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
