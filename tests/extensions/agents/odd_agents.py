"""Agents as they go wrong, by what each does in its turn."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pytest_bfcl.extensions.agents import AgentEntry
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data

kept: list[Any] = []


def knowing(episode: AgentEntry) -> Callable[[str], Any]:
    entry, turns = open_data("bundled").entry(episode.entry_id), iter(range(100))

    async def turn(message: str) -> str:
        print("what an agent prints is its own business")
        reply = answer(entry, "fc", next(turns))
        calls = [(call.name, json.loads(call.arguments)) for call in reply.tool_calls]
        await asyncio.gather(*(episode.call(name, arguments) for name, arguments in calls))
        assert {each["role"] for each in episode.messages} <= {"system", "user", "assistant", "tool"}
        return reply.text or "done"

    return turn


def keeping(episode: AgentEntry) -> Callable[[str], Any]:
    """What libraries' shared clients do: what they began in the first entry they go on with in the next."""
    turn = knowing(episode)

    async def kept_turn(message: str) -> Any:
        if not kept:
            kept.append(asyncio.get_running_loop())
        kept[0].call_soon(lambda: None)  # raises when the loop is closed
        background = asyncio.ensure_future(asyncio.sleep(3600))
        assert sum(task.get_name() == "background" for task in asyncio.all_tasks()) == 0, "of an entry before"
        background.set_name("background")
        return await turn(message)

    return kept_turn


def hoarding(episode: AgentEntry) -> Callable[[str], Any]:
    """A history of the process: from the second entry on it says what it said before."""
    turn = knowing(episode)

    async def stale_turn(message: str) -> str:
        if not kept:
            kept.append(message)
            return str(await turn(message))
        return "As I said before."

    return stale_turn


def returning_nothing(episode: AgentEntry) -> None:
    episode.tools  # noqa: B018 - its author forgot the return


async def returning_nothing_later(episode: AgentEntry) -> None:
    await asyncio.sleep(0)


def leaking(episode: AgentEntry) -> Callable[[str], Any]:
    kept.append(os.pipe())
    return knowing(episode)


def then(action: Callable[[], Any]) -> Callable[[AgentEntry], Callable[[str], Any]]:
    def factory(episode: AgentEntry) -> Callable[[str], Any]:
        async def turn(message: str) -> str:
            return str(action())

        return turn

    return factory


def cancel() -> None:
    raise asyncio.CancelledError


def die() -> None:
    print("out of paper", file=sys.stderr, flush=True)
    os._exit(7)


blocking = then(lambda: time.sleep(1000))
exiting = then(lambda: sys.exit(3))
cancelling = then(cancel)
dying = then(die)
eating = then(lambda: kept.append(bytearray(8 * 2**30)))


@asynccontextmanager
async def managed(episode: AgentEntry) -> Any:
    with Path("managed.txt").open("a") as file:
        file.write("open ")
    yield knowing(episode)
    with Path("managed.txt").open("a") as file:
        file.write("closed ")


class Closable:
    def __init__(self, episode: AgentEntry) -> None:
        self._turn = knowing(episode)

    def __call__(self, message: str) -> Any:
        return self._turn(message)

    async def aclose(self) -> None:
        with Path("managed.txt").open("a") as file:
            file.write("open closed ")
