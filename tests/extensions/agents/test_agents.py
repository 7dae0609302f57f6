"""Whole agents over every door: verdicts, step limit, errors, journal, tokens."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import pytest_bfcl
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.agents import AgentEntry, as_agent
from pytest_bfcl.extensions.agents.episode import mistake_of
from pytest_bfcl.models import create_model
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def entries():
    data = open_data("bundled")
    names = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "simple_python", "parallel",
             "irrelevance", "simple_java", "memory_kv")  # fmt: skip
    found = [data.load(ref) for name in names for ref in list(data.index(name))[:3]]
    return {each.id: each for each in found if each.category != "memory_kv"}


Calls = list[tuple[str, dict[str, Any]]]


class Script:
    """An agent without a library that knows the ground truth; each method goes through another door."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        self.entries = entries

    def turn(self, episode: AgentEntry, turn: int) -> tuple[Calls, str]:
        """Calls and last words."""
        reply = answer(self.entries[episode.entry_id], "fc", turn)
        return [(call.name, json.loads(call.arguments)) for call in reply.tool_calls], reply.text or "done"

    def playing(self, episode: AgentEntry, act: Callable[[Calls], Awaitable[Any]]) -> Callable[[str], Any]:
        turns = itertools.count()

        async def play(message: str) -> str:
            calls, text = self.turn(episode, next(turns))
            await act(calls)
            return text

        return play

    def by_call(self, episode: AgentEntry) -> Callable[[str], Any]:
        async def act(calls: Calls) -> None:
            for name, arguments in calls:
                await episode.call(name, arguments)

        return self.playing(episode, act)

    def by_tools(self, episode: AgentEntry) -> Callable[[str], Any]:
        """Async functions, all calls of a turn side by side in one step."""

        async def act(calls: Calls) -> None:
            tools = {tool.name: tool for tool in episode.tools}
            await asyncio.gather(*(tools[name](**arguments) for name, arguments in calls))

        return self.playing(episode, act)

    def by_sync_tools(self, episode: AgentEntry) -> Callable[[str], Any]:
        """Plain functions, called from a thread."""
        turns = itertools.count()

        def play(message: str) -> str:
            calls, text = self.turn(episode, next(turns))
            tools = {tool.name: tool for tool in episode.sync_tools}
            for name, arguments in calls:
                tools[name](**arguments)
            return text

        return play

    async def by_turns(self, episode: AgentEntry) -> None:
        """It goes through the turns itself."""
        turns = itertools.count()
        async for _ in episode.turns():
            calls, text = self.turn(episode, next(turns))
            for name, arguments in calls:
                await episode.call(name, arguments)
            episode.answer(text)

    def by_mcp(self, episode: AgentEntry) -> Callable[[str], Any]:
        """The episode's MCP server, over HTTP."""

        async def act(calls: Calls) -> None:
            from mcp import Client

            async with Client(await episode.mcp_url()) as client:
                for name, arguments in calls:
                    await client.call_tool(name, arguments)

        return self.playing(episode, act)


@pytest.mark.parametrize("door", ["by_call", "by_tools", "by_sync_tools", "by_turns", "by_mcp"])
def test_an_agent_that_knows_passes_over_every_door(entries, door):
    if door == "by_mcp":
        pytest.importorskip("mcp")
    chosen = list(entries.values())
    if door == "by_mcp":
        chosen = [each for each in chosen if each.category in ("multi_turn_miss_func", "parallel")][2:4]
    script = Script(entries)
    result = run(chosen, as_agent(getattr(script, door), "known"), settings=Settings(concurrency=4))
    assert [(r["id"], r["outcome"], r.get("error")) for r in result.records if r["outcome"] != "passed"] == []
    assert {record["model"] for record in result.records} == {"agent:known@fc"}


def multi_turn(entries):
    return next(each for each in entries.values() if each.category == "multi_turn_base")


def test_the_step_limit_ends_an_agent_that_never_stops(entries):
    entry, answers = multi_turn(entries), []

    def endless(episode):
        async def play(message):
            while True:
                tool = episode.tools[0]
                required = dict.fromkeys(tool.parameters.get("required", []), "x")
                answers.append(await tool(**required))

        return play

    (record,) = run([entry], as_agent(endless), settings=Settings(step_limit=4)).records
    assert record["outcome"] == "failed"
    assert "force" in record["reason"]
    assert len(record["output"][0]) == 5


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_an_agent_raises_is_an_error_of_the_fixture(entries, kind):
    def broken(episode):
        def play(message):
            raise ValueError("out of luck\nsecond line")

        async def aplay(message):
            return play(message)

        return play if kind == "sync" else aplay

    (record,) = run([multi_turn(entries)], as_agent(broken)).records
    assert record["outcome"] == "error"
    assert record["reason"] == "adapter:fixture"
    assert "ValueError: out of luck" in record["detail"]["error"]


def test_turns_left_out_and_hanging_agents_are_errors(entries):
    async def lazy(episode):
        episode.next_turn()

    async def hanging(episode):
        await asyncio.sleep(60)

    settings = Settings(timeout_s=0.01, step_limit=1)
    reasons = [run([multi_turn(entries)], as_agent(each), settings=settings).records[0] for each in (lazy, hanging)]
    assert [record["reason"] for record in reasons] == ["adapter:fixture", "adapter:timeout"]
    assert "too early" in reasons[0]["detail"]["error"]


def test_tokens_that_are_told_are_counted(entries):
    script = Script(entries)

    def factory(episode):
        play = script.by_call(episode)

        async def told(message):
            for _ in range(2):
                episode.tell(input_tokens=100, output_tokens=7)
            return await play(message)

        return told

    entry = multi_turn(entries)
    (record,) = run([entry], as_agent(factory)).records
    for field, each in (("input_tokens", 200), ("output_tokens", 14)):
        assert sum(count or 0 for turn in record[field] for count in turn) == each * len(entry.question)


def test_specs_that_name_no_agent_are_said(tmp_path, monkeypatch):
    from pytest_bfcl.failures import UsageError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "some_agents.py").write_text("def make(episode): pass\nnumber = 3\n")
    assert create_model("agent:some_agents:make", Settings()).spec == "agent:some_agents:make@fc"
    for spec, said in [
        ("agent:some_agents", "write agent:"),
        ("agent:some_agents:number", "no function 'number'"),
        ("agent:missing_module_x:make", "cannot be imported"),
        ("agent:some_agents:make@prompt", "no prompting mode"),
    ]:
        with pytest.raises(UsageError, match=said):
            create_model(spec, Settings())


def error(package: str, name: str, text: str = "x", cause: BaseException | None = None) -> Exception:
    made: Exception = type(name, (Exception,), {"__module__": f"{package}.inner"})(text)
    made.__cause__ = cause
    return made


BROKEN = json.JSONDecodeError("Expecting value", "{", 1)


@pytest.mark.parametrize(
    ("raised", "is_models"),
    [
        (error("agents", "ModelBehaviorError"), True), (error("pydantic_ai", "UnexpectedModelBehavior"), True),
        (error("mine", "ModelBehaviorError"), False), (error("mine", "Odd", "Tool fly not found in agent a"), True),
        (error("mine", "Odd", cause=error("langgraph", "GraphRecursionError")), True),
        (ExceptionGroup("all", [error("smolagents", "AgentParsingError")]), True),
        (error("agents", "UserError", "Error running tool fly", BROKEN), True), (BROKEN, False),
        (ValueError("x"), False), (FileNotFoundError("prompt.txt not found"), False),
    ],
)  # fmt: skip
def test_whose_mistake_it_is(raised: BaseException, is_models: bool) -> None:
    assert (mistake_of(raised) is not None) is is_models


@pytest.mark.parametrize(
    ("raised", "outcomes"),
    [
        (error("agents", "ModelBehaviorError", "Tool fly not found in agent a"), ["failed", "failed", "failed"]),
        (error("agents", "ModelBehaviorError", "odd arguments"), ["failed", "passed", "failed"]),
        (RuntimeError("out of order"), ["error", "error", "error"]),
    ],
)
def test_they_are_judged_as_a_bare_models(raised: Exception, outcomes: list[str]) -> None:
    def factory(episode: Any) -> Any:
        async def turn(message: str) -> str:
            raise raised

        return turn

    data = open_data("bundled")
    entries = [data.entry(each) for each in ("simple_python_0", "irrelevance_0", "multi_turn_base_0")]
    lines = pytest_bfcl.run(entries, pytest_bfcl.as_agent(factory)).records
    assert [line["outcome"] for line in lines] == outcomes
