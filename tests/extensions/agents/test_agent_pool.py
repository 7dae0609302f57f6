"""Agents in processes of their own, and behind an address: right ones like bare models, wrong ones harm nobody else."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import arun, open_data, run
from pytest_bfcl.settings import Settings
from tests.models.loopback import serving

IDS = ["multi_turn_base_0", "multi_turn_miss_func_0", "simple_python_0", "parallel_0", "irrelevance_0"]
ODD = "agent:tests.extensions.agents.odd_agents"


def run_of(name: str, ids: list[str] = IDS, **settings: Any) -> Any:
    data = open_data("bundled")
    return run([data.entry(each) for each in ids], f"{ODD}:{name}", settings=Settings(**settings))


def played(name: str, ids: list[str] = IDS, **settings: Any) -> list[Any]:
    return list(run_of(name, ids, **settings).records)


def test_it_plays_as_in_this_process() -> None:
    lines = played("knowing", agent_workers=2)
    bare = run([open_data("bundled").entry(each) for each in IDS], "oracle:").records
    assert [line["outcome"] for line in lines] == ["passed"] * len(IDS)
    assert [line["calls"] for line in lines if line["category"].startswith("multi")] == [
        line["calls"] for line in bare if line["category"].startswith("multi")
    ]


@pytest.mark.parametrize(
    ("name", "workers", "said"),
    [
        ("exiting", 0, "the agent raised SystemExit: 3"),
        ("cancelling", 0, "the agent raised CancelledError"),
        pytest.param("exiting", 1, "the agent raised SystemExit: 3", marks=pytest.mark.slow),
        ("dying", 1, "the agent's process ended with status 7 in an entry; its last output: out of paper"),
        pytest.param("eating", 1, "MemoryError",
                     marks=pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA")),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_the_agents(name: str, workers: int, said: str) -> None:
    lines = played(name, ["simple_python_0", "parallel_0"], agent_workers=workers)
    assert [(line["outcome"], line["reason"]) for line in lines] == [("error", "adapter:fixture")] * 2
    assert all(said in line["detail"]["error"] for line in lines)


def test_state_that_is_kept_between_entries_is_told() -> None:
    found = run_of("hoarding", IDS[2:], agent_workers=1, concurrency=1)
    assert [line["outcome"] for line in found.records] == ["passed", "failed", "passed"], "the first verdict counts"
    assert [line["extra"].get("alone") for line in found.records] == [None, "passed", None]
    assert [line["extra"]["played_before"] for line in found.records] == [0, 1, 2]
    (note,) = [note for note in found.notes if "fresh" in note]
    assert note.startswith("parallel_0 failed after 1 other entries in its agent's process and passes alone")


@pytest.mark.parametrize(
    ("name", "workers"),
    [("returning_nothing", 0), ("returning_nothing_later", 0), ("returning_nothing", 1),
     pytest.param("returning_nothing_later", 1, marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_factory_that_returns_nothing_is_an_error(name: str, workers: int) -> None:
    (line,) = played(name, ["irrelevance_0"], agent_workers=workers)
    assert (line["outcome"], line["reason"]) == ("error", "adapter:fixture")
    assert "the agent's factory returned nothing and took no turn" in line["detail"]["error"]


@pytest.mark.slow
def test_one_that_blocks_is_ended() -> None:
    begun = time.perf_counter()
    (line,) = played("blocking", ["simple_python_0"], timeout_s=0.2)
    assert line["reason"] == "adapter:timeout"
    assert time.perf_counter() - begun < 30


@pytest.mark.parametrize("name", ["managed", pytest.param("Closable", marks=pytest.mark.slow), "keeping"])
def test_all_entries_of_a_process_share_a_loop_and_what_can_be_closed_is_closed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [line["outcome"] for line in played(name, IDS[2:], agent_workers=1)] == ["passed"] * 3
    assert name == "keeping" or (tmp_path / "managed.txt").read_text() == "open closed " * 3


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit of open files")
def test_descriptors_that_leak_end_with_their_process() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        entries = [open_data("bundled").entry("simple_python_0")]
        found = run(entries, f"{ODD}:leaking", settings=Settings(agent_workers=1, repeat=300))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [line["outcome"] for line in found.records] == ["passed"] * 300


def server(kind: str) -> Callable[[Any], Any]:
    from aiohttp import ClientSession, web

    async def turn(request: Any) -> Any:
        asked = await request.json()
        if kind == "broken":
            return web.Response(text="[1]")
        reply = answer(open_data("bundled").entry(asked["entry_id"]), "fc", asked["turn"])
        calls = [{"name": each.name, "arguments": json.loads(each.arguments)} for each in reply.tool_calls]
        if kind == "tells":
            return web.json_response({"text": reply.text or "", "calls": calls, "output_tokens": 7})
        async with ClientSession() as session:
            for call in calls:
                async with session.post(asked["call_url"], json=call) as made:
                    assert "result" in await made.json()
            async with session.post(asked["call_url"] + "x", json={"name": "f", "arguments": {}}) as other:
                assert other.status == 404
        return web.json_response({"text": reply.text or ""})

    return turn


@pytest.mark.parametrize(
    ("kind", "reasons"),
    [("calls", {None}), ("tells", {None}), ("broken", {"adapter:fixture"}), ("gone", {"adapter:connection"})],
)
def test_an_agent_behind_an_address(kind: str, reasons: set[str | None]) -> None:
    async def play() -> Any:
        entries = [open_data("bundled").entry(each) for each in IDS]
        async with serving(server(kind)) as url:
            address = "http://127.0.0.1:9/agent" if kind == "gone" else f"{url}/agent"
            return await arun(entries, f"agent:{address}", settings=Settings(timeout_s=5))

    assert {line["reason"] for line in asyncio.run(play()).records} == reasons
