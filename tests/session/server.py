"""An OpenAI-compatible server that knows the right answers and fails on demand; runs as a process of its own.

``python server.py --data FOLDER --log FILE`` prints its port. The log gets one line when a request arrives and one when
its answer has been handed over, so a test can tell what was asked, how often, and what was in flight. ``POST /config``
sets ``delay`` (seconds) and replaces the ``faults``: a list of objects with

- ``kind``: a status (500, 429, 401 …), reset, truncate, empty, hang, notjson or slow
- ``ids``: a regular expression that entry ids must match (default: all)
- ``first``: only the first so many requests for the same query fail (default: all of them)
- ``share``: only this share of the requests fails, the same ones whenever the same is asked
- ``seconds``: for ``slow`` (delay) and 429 (``Retry-After``)
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import logging
import re
import time
from collections import Counter
from typing import Any

from aiohttp import web

from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.transcript import Reply, ToolCall


class Server:
    """The state of the server: entries by their first words, faults, counts."""

    def __init__(self, data: str, log: str) -> None:
        self.dataset = open_data(data)
        names = [name for name in self.dataset.categories() if name not in ("memory_vector", "memory_rec_sum")]
        names += [f"{name}_prereq" for name in names if name == "memory_kv"]
        entries = [self.dataset.load(ref) for name in names for ref in self.dataset.index(name)]
        self.entries = {entry.question[0][-1]["content"]: entry for entry in entries}
        self.log = open(log, "a", buffering=1)  # noqa: SIM115
        self.delay = 0.0
        self.faults: list[dict[str, Any]] = []
        self.asked: Counter[tuple[str, int, int]] = Counter()
        self.in_flight = self.most_in_flight = 0

    def note(self, what: str, place: tuple[str, int, int], **more: Any) -> None:
        line = {"what": what, "id": place[0], "turn": place[1], "step": place[2], "at": time.time(), **more}
        self.log.write(json.dumps(line) + "\n")

    def place(self, messages: list[dict[str, Any]]) -> tuple[str, int, int]:
        """Entry id, turn and step of a request, read off its messages."""
        asked = [index for index, message in enumerate(messages) if message["role"] == "user"]
        if messages[asked[0]]["content"] not in self.entries:
            return "probe_0", 0, 0  # the harmless question that a breaker asks
        entry = self.entries[messages[asked[0]]["content"]]
        step = sum(message["role"] == "assistant" for message in messages[asked[-1] :])
        return entry.id, len(asked) - 1, step

    def fault_for(self, place: tuple[str, int, int]) -> dict[str, Any]:
        for fault in self.faults:
            chosen = "share" not in fault or drawn(fault["kind"], place, self.asked[place]) < fault["share"]
            if chosen and re.search(fault.get("ids", ""), place[0]) and self.asked[place] <= fault.get("first", 10**9):
                return fault
        return {"kind": "none"}

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        place = self.place(body["messages"])
        self.asked[place] += 1
        fault = self.fault_for(place)
        self.note("asked", place, fault=str(fault["kind"]), key=request.headers.get("authorization"))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            response = await self.respond(request, body, place, fault)
            with contextlib.suppress(ConnectionError):  # whoever asked was killed
                await response.prepare(request)
                await response.write_eof()
                self.note("answered", place)
            return response
        finally:
            self.in_flight -= 1

    async def respond(
        self, request: web.Request, body: dict[str, Any], place: tuple[str, int, int], fault: dict[str, Any]
    ) -> web.StreamResponse:
        kind = str(fault["kind"])
        await asyncio.sleep(fault["seconds"] if kind == "slow" else 3600 if kind == "hang" else self.delay)
        if kind == "reset":
            assert request.transport is not None
            request.transport.abort()
            raise ConnectionResetError
        if kind.isdigit():
            headers = {"Retry-After": str(fault["seconds"])} if "seconds" in fault else {}
            message = {"error": {"message": f"fault {kind}", "type": "fault"}}
            return web.json_response(message, status=int(kind), headers=headers)
        if kind == "notjson":
            return web.Response(text="<html>busy</html>", content_type="text/html")
        text = json.dumps(self.completion(body, place, empty=kind == "empty")).encode()
        if kind == "truncate":
            response = web.StreamResponse(
                headers={"Content-Length": str(len(text)), "Content-Type": "application/json"}
            )
            await response.prepare(request)
            await response.write(text[: len(text) // 2])
            assert request.transport is not None
            request.transport.close()
            raise ConnectionResetError
        return web.Response(body=text, content_type="application/json")

    def completion(self, body: dict[str, Any], place: tuple[str, int, int], *, empty: bool) -> dict[str, Any]:
        entry_id, turn, step = place
        if entry_id == "probe_0":
            return {"choices": [{"index": 0, "message": {"content": "hello"}, "finish_reason": "stop"}]}
        entry = self.dataset.entry(entry_id)
        reply = answer(entry, "fc" if body.get("tools") else "prompt", turn, step)
        if entry.row.group == "memory_prereq" and step == 0:
            reply = remembering(turn)
        calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for n, c in enumerate(reply.tool_calls)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        return {"id": "x", "object": "chat.completion", "choices": [] if empty else [choice], "usage": usage}

    async def configure(self, request: web.Request) -> web.Response:
        wanted = await request.json()
        self.faults, self.delay = wanted["faults"], wanted["delay"]
        self.asked.clear()
        self.most_in_flight = 0
        return web.json_response({})

    async def stats(self, request: web.Request) -> web.Response:
        return web.json_response({"most_in_flight": self.most_in_flight, "in_flight": self.in_flight})


def drawn(kind: object, place: tuple[str, int, int], number: int) -> float:
    """A number from 0 to 1 that depends on nothing but what is asked, and how often it was."""
    digest = hashlib.sha256(f"{kind} {place} {number}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def remembering(turn: int) -> Reply:
    """What a model does in the write stage of a memory: it keeps something of every turn."""
    arguments = {"key": f"turn_{turn}", "value": f"what was said in turn {turn}"}
    return Reply(tool_calls=(ToolCall("core_memory_add", json.dumps(arguments)),))


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    server = Server(options.data, options.log)
    logging.getLogger("aiohttp.server").disabled = True  # connections are broken on purpose
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", server.complete)
    app.router.add_post("/config", server.configure)
    app.router.add_get("/stats", server.stats)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
