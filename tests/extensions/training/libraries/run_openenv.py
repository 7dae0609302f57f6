"""OpenEnv itself over the entries: its client and server on loopback, plain HTTP, hostile input.

``python -m tests.extensions.training.libraries.run_openenv CATEGORY…`` prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from typing import Any

import httpx
import uvicorn
from openenv.core import GenericEnvClient

from pytest_bfcl.extensions.training import openenv
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.training import Tasks, tasks


def serve(app: Any) -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    running = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical"))
    threading.Thread(target=running.run, daemon=True).start()
    while not running.started:
        time.sleep(0.05)
    return f"http://127.0.0.1:{port}"


def action(entry: Any, mode: str, turn: int, step: int) -> openenv.EntryAction:
    said = answer(entry, mode, turn, step)  # type: ignore[arg-type]
    calls = [openenv.EntryCall(name=call.name, arguments=call.arguments) for call in said.tool_calls]
    return openenv.EntryAction(text=said.text, tool_calls=calls)


async def played(url: str, chosen: Tasks) -> list[str]:
    """Every entry by the client, eight sessions side by side; those whose reward is not 1."""
    poor: list[str] = []
    waiting = list(chosen)

    async def one() -> None:
        async with openenv.EntryClient(url) as client:
            while waiting:
                entry = waiting.pop()
                found = await client.reset(entry_id=entry.id)
                turn = step = 0
                earned = 0.0
                while not found.done:
                    found = await client.step(action(entry, chosen.options["mode"], turn, step))
                    earned += found.reward
                    step = step + 1 if found.observation.user_turn == turn else 0
                    turn = found.observation.user_turn
                state = await client.state()
                if abs(earned - 1.0) > 1e-9 or state.entry_id != entry.id or not state.done or state.verdict != 1.0:
                    poor.append(entry.id)

    await asyncio.gather(*(one() for _ in range(8)))
    return poor


def over_http(url: str, chosen: Tasks) -> list[float]:
    """Two episodes by plain requests, one step of each in turn."""
    rewards = []
    entries = [entry for entry in chosen if not entry.row.multi_step][:2]
    with httpx.Client(base_url=url, timeout=60) as http:
        for number, entry in enumerate(entries):
            body = {"episode_id": f"mine-{number}", "entry_id": entry.id}
            assert http.post("/reset", json=body).json()["observation"]["messages"]
        for number, entry in enumerate(entries):
            made = action(entry, chosen.options["mode"], 0, 0).model_dump(mode="json")
            found = http.post("/step", json={"episode_id": f"mine-{number}", "action": made}).json()
            rewards.append(found["reward"])
    return rewards


HOSTILE: list[Any] = [
    {"entry_id": "../../etc/passwd"}, {"entry_id": 7}, {"entry_id": "x" * 100_000}, {"seed": 10**18},
    {"data": "/etc/passwd", "options": {"rules": "mine"}}, {"episode_id": "x" * 200},
]  # fmt: skip
STEPS: list[Any] = [
    {"text": "[__import__('os').system('id')]"}, {"text": "[" * 100_000}, {"tool_calls": [{"name": "x" * 900}]},
    {"tool_calls": [{"name": "ls", "arguments": '{"a": ' * 5000}]}, {"text": None, "tool_calls": []},
    {"text": "\U0001f600 \x00"}, {"metadata": {"a": 1}},
]  # fmt: skip


def hostile(url: str) -> dict[str, Any]:
    """What a stranger may send: statuses, the longest time, and that the server answers afterwards."""
    statuses, slowest = [], 0.0
    with httpx.Client(base_url=url, timeout=60) as http:

        def post(path: str, **body: Any) -> httpx.Response:
            nonlocal slowest
            start = time.monotonic()
            found = http.post(path, **body)
            slowest = max(slowest, time.monotonic() - start)
            statuses.append(found.status_code)
            return found

        for body in HOSTILE:
            post("/reset", json=body)
        for body in STEPS:
            post("/reset", json={"episode_id": "h"})
            post("/step", json={"episode_id": "h", "action": body})
        post("/step", json={"episode_id": "nobody", "action": {"text": "x"}})
        post("/step", json={"action": {"text": "x" * 1_000_001}})
        post("/step", json={"action": {"tool_calls": [{"name": "x"}] * 501}})
        post("/step", json={"action": {"nonsense": 1}})
        post("/reset", content=b"{" * 100_000, headers={"Content-Type": "application/json"})
        post("/reset", content=b'{"a":' * 100_000, headers={"Content-Type": "application/json"})
        post("/reset", content=b"x" * (openenv.MAX_BODY + 1))
        alive = post("/reset", json={"seed": 0}).status_code
    return {"statuses": statuses, "slowest_s": slowest, "alive": alive}


async def sockets(url: str) -> list[str]:
    """Words that are no messages, over a WebSocket: the session goes on."""
    told = []
    async with GenericEnvClient(url) as client:
        wrong: list[Any] = [{"type": "step", "data": {"x": 1}}, {"type": "nonsense"}]
        for message in (*wrong, {"type": "step", "data": {"text": "a"}}):
            await client._send(message)
            told.append(str((await client._receive())["type"]))
        found = await client.reset(seed=3)
        told.append("reset" if found.observation["messages"] else "nothing")
    return told


def main(categories: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"poor": {}, "entries": 0}
    for mode in ("fc", "prompt"):
        chosen = tasks("bundled", mode=mode, categories=categories or None, partial=True)
        url = serve(openenv.server(chosen, episodes=50))
        found["entries"] += len(chosen)
        found["poor"][mode] = asyncio.run(played(url, chosen))
        found.setdefault("http", over_http(url, chosen))
    found["hostile"] = hostile(url)
    found["sockets"] = asyncio.run(sockets(url))
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
