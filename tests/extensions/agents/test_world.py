"""The world of an entry on a user's MCP server: its tools, calls, and what its state tells when; no server runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp")

from pytest_bfcl.conversation.world import TOO_MUCH
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.served_entry import ServerFacts
from pytest_bfcl.extensions.agents import served_world as served
from pytest_bfcl.extensions.agents.served_world import served_entry
from pytest_bfcl.extensions.agents.workdir import Workdir
from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import OBSERVED, Transcript, Turn

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class Server:
    """A session that answers every call with what it was asked, in the trial's own directory."""

    may_change = False

    def __init__(self) -> None:
        self.tools, self.log = ["add-one"], []
        self.answers: dict[str, Any] = {}

    async def documents(self, *, as_listed: bool) -> Any:
        self.log.append(f"listed {as_listed}")
        names = {name.replace("-", "_"): name for name in self.tools}
        return [{"name": said, "parameters": SCHEMA} for said in names], names

    async def call(self, name: str, arguments: Any, purpose: str = "") -> Any:
        self.log.append(f"call {name} {purpose}".strip())
        if name == "gone":
            raise HarnessError("mcp", "gone")
        if "odd" in arguments:
            raise ValueError("odd")
        return SimpleNamespace(content=[SimpleNamespace(type="text", text=f"{name} {arguments}")])

    async def values(self, name: str, arguments: Any, purpose: str) -> Any:
        self.log.append(f"asked {name} {arguments}")
        return self.answers[name]

    async def resource(self, address: str) -> Any:
        self.log.append(f"read {address}")
        return self.answers[address]

    def facts(self, files: Any) -> ServerFacts:
        return ServerFacts("shop 1", (), files)

    def trouble(self, what: str) -> HarnessError:
        return HarnessError("mcp", what)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()

    @asynccontextmanager
    async def session(subject: str, name: str, where: str, timeout_s: float, places: Any) -> AsyncIterator[Server]:
        server.log.append(f"opened {name} {where} {list(places)}")
        yield server

    async def run(self: Workdir, command: str, what: str, timeout_s: float) -> None:
        server.log.append(f"{what}: {command}")

    monkeypatch.setattr(served, "mcp_session", session)
    monkeypatch.setattr(Workdir, "run", run)
    return server


def entry(turns: int = 1, **fields: Any) -> Entry:
    question = [[{"role": "user", "content": "?"}]] * turns
    return Entry(**({"id": "own_1", "category": "mcp", "mcp": "shop", "question": question} | fields))


def inside(known: Entry, work: Any, as_listed: bool = False, **settings: Any) -> Any:
    """What ``work`` gives with the served entry, its world and the transcript."""

    async def main() -> Any:
        asked = Settings(**{"mcp": {"shop": "cmd"}} | settings)
        async with served_entry(known, asked, as_listed=as_listed) as (offered, world):
            transcript = Transcript(known.id, known.category, turns=[Turn()])
            world.keep_in(transcript)
            return await work(offered, world, transcript)

    return asyncio.run(main())


@pytest.mark.parametrize("around", [True, False])
def test_what_happens_around_a_trial(server: Server, around: bool) -> None:
    async def work(offered: Entry, world: Any, transcript: Transcript) -> Any:
        server.log.append("held")
        return [doc["name"] for doc in offered.function]

    commands = {"mcp_setup": {"shop": "up"}, "mcp_teardown": {"shop": "down"}} if around else {}
    known = entry(setup=[{"call": "fill", "arguments": {"n": 1}}])
    assert inside(known, work, as_listed=True, **commands) == ["add_one"]
    held = ["opened shop cmd ['{workdir}']", "listed True", "call fill the entry's setup", "held"]
    assert server.log == (["setup: up", *held, "teardown: down"] if around else held)
    with pytest.raises(HarnessError, match="the MCP server 'shop' has no address"):
        inside(known, work, mcp={"other": "cmd"})


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("add_one(n=1)", "add-one {'n': 1}"), ("add_one(n='/workdir')", "Error"), ("add_one()", "Error"),
        ("late(n=2)", "late {'n': 2}"), ("nothing(n=1)", "there is no tool 'nothing'"), ("1 +", "Error"),
        ("add_one(n=1, odd=2)", "odd"), ("add_one(n=1, place='/workdir/x')", "'place': '/workdir/x'"),
    ],
)  # fmt: skip
def test_calls(server: Server, call: str, result: str) -> None:
    async def work(offered: Entry, world: Any, transcript: Transcript) -> Any:
        server.tools.append("late")
        found = await world.execute(call)
        assert server.log.count("listed False") == (2 if call.startswith(("late", "nothing")) else 1)
        with pytest.raises(AdapterError, match="cannot wait for it"):
            world.execute_now(call)
        return found

    assert result in inside(entry(), work)


def test_a_conversation_that_runs_away_and_a_server_that_is_gone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(offered: Entry, world: Any, transcript: Transcript) -> Any:
        return [(await world.execute("add_one(n=1)")) == TOO_MUCH for _ in range(4)]

    one = len("add-one {'n': 1}")
    for name, limit, run in (("MOST_CALLS", 2, 2), ("MOST_SHOWN", one, 2), ("MOST_SHOWN", one - 1, 1)):
        with monkeypatch.context() as patch:
            patch.setattr(served, name, limit)
            assert inside(entry(), work) == [False] * run + [True] * (4 - run)
    server.tools.append("gone")
    with pytest.raises(HarnessError, match="gone"):
        inside(entry(), lambda offered, world, transcript: world.execute("gone(n=1)"))


def test_what_the_state_tells_after_which_turn(server: Server) -> None:
    expect = [
        {"turn": 0, "call": "count", "equals": 1}, {"resource": "shop://x", "equals": 2}, {"answer": "yes"},
        {"any_of": [{"call": "both", "equals": {"a": 1}}, {"state": {"file": "f.json", "path": "$.b"}, "equals": 7},
                    {"state": {"file": "f.json", "path": "$.c"}, "exists": False}]},
        {"state": {"file": "none"}, "exists": False},
    ]  # fmt: skip
    server.answers = {"count": [1], "shop://x": 2, "both": ["text", {"a": 1}]}

    async def work(offered: Entry, world: Any, transcript: Transcript) -> Any:
        (Path(world._workdir.path) / "f.json").write_text('{"b": 7}')
        await world.execute("add_one(n=1)")
        assert server.log[-1] == "call add-one"
        transcript.turns.append(Turn())
        for _ in range(2):
            await world.execute("add_one(n=1)")
        # before anything, to compare with the end, and when it is due
        assert [line for line in server.log if line.startswith(("asked", "read"))] == ["asked count {}"] * 2
        await world.finish()
        await world.finish()
        return transcript.extra[OBSERVED]

    absent = {"(absent)": True}
    assert inside(entry(2, expect=expect), work) == [1, 2, None, [{"a": 1}, 7, absent], absent]
    assert [line for line in server.log if line.startswith(("asked", "read"))] == [
        "asked count {}", "asked count {}", "read shop://x", "asked both {}", "asked count {}", "asked count {}"
    ]  # fmt: skip
