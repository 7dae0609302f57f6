"""Agents through the plugin: repeats, workers, several models, interruptions, replays, comparisons, modes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.cli import main
from tests.distributed import WORKERS
from tests.plugin.conftest import Project, project  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

AGENTS = """
import asyncio
import json
from pathlib import Path

from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.models.oracle import answer

DATA = open_data("bundled")


def player(episode, name, kept):
    entry = DATA.entry(episode.entry_id)
    turns = iter(range(100))
    with Path("played.txt").open("a") as file:
        file.write(f"{name} {episode.entry_id}\\n")

    async def play(message):
        turn = next(turns)
        reply = answer(entry, "fc", turn)
        if turn == 0 and entry.depends_on and entry.row.checker == "none":
            await episode.call("core_memory_list_keys", {})
        for call in kept(reply.tool_calls):
            await episode.call(call.name, json.loads(call.arguments))
        await asyncio.sleep(0.01)
        if Path("broken").exists() and "multi_turn" in entry.id and turn == 1:
            raise RuntimeError("out of order")
        return reply.text or "done"

    return play


def knowing(episode):
    return player(episode, "knowing", lambda calls: calls)


def forgetful(episode):
    return player(episode, "forgetful", lambda calls: calls[:-1] if "multi_turn" in episode.entry_id else calls)
"""
IDS = (
    "multi_turn_base_0",
    "multi_turn_miss_func_0",
    "simple_python_0",
    "parallel_0",
    "irrelevance_0",
    "memory_kv_0-student-0",
)
KNOWING, FORGETFUL = "agent:players:knowing", "agent:players:forgetful"


@pytest.fixture
def agents(project: Project) -> Project:  # noqa: F811
    (project.path / "players.py").write_text(AGENTS)
    (project.path / "ids.txt").write_text("\n".join(IDS))
    project.pytester.syspathinsert()
    return project


def run(agents: Project, *args: str, model: str = KNOWING, out: str = "run", **more: Any) -> pytest.RunResult:
    return agents.run("--bfcl-ids", "ids.txt", *args, model=model, data="bundled", out=out, **more)


def played(agents: Project) -> list[str]:
    path = agents.path / "played.txt"
    return path.read_text().splitlines() if path.exists() else []


def outcomes(records: list[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[Any, ...]]:
    return {
        (r["id"], r["model"], r["repeat"]): (r["outcome"], r["reason"], r["output"], r["tool_results"]) for r in records
    }


def test_repeats_workers_and_several_models(agents: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Two agents and a bare model: the agent that knows and the oracle have the same verdicts in every repeat."""
    args = ("--bfcl-repeat=3", "--model", FORGETFUL, "--model", "oracle:@fc")
    alone = run(agents, *args, out="alone")
    together = run(agents, *args, "-n2", out="together")
    assert outcomes(agents.records("together")) == outcomes(agents.records("alone"))
    for result, out in ((alone, "alone"), (together, "together")):
        records = agents.records(out)
        verdicts = {(r["id"], r["model"].partition("@")[0], r["repeat"]): r["outcome"] for r in records}
        for entry in IDS:
            for repeat in (1, 2, 3):
                assert verdicts[entry, KNOWING, repeat] == verdicts[entry, "oracle:", repeat] == "passed"
                wrong = entry.startswith("multi_turn")
                assert verdicts[entry, FORGETFUL, repeat] == ("failed" if wrong else "passed")
        failed = [r for r in records if r["outcome"] == "failed"]
        assert len(failed) == 2 * 3
        result.stdout.fnmatch_lines([f"*function calling: {KNOWING}@fc*"])
    models = agents.summary("alone")["models"]
    assert models[f"{FORGETFUL}@fc"]["repeats"]["k"] == 3
    assert models[f"{KNOWING}@fc"]["repeats"]["pass_pow_k"] == 1.0
    capsys.readouterr()
    assert main(["compare", str(agents.path / "alone"), str(agents.path / "together")]) == 0
    assert "multi_turn" in capsys.readouterr().out


@pytest.mark.parametrize("workers", WORKERS)
def test_what_was_played_to_its_end_is_not_played_again(agents: Project, workers: tuple[str, ...]) -> None:
    (agents.path / "broken").write_text("")
    first = run(agents, *workers)
    errors = {r["id"] for r in agents.records() if r["outcome"] == "error"}
    assert errors == {"multi_turn_base_0", "multi_turn_miss_func_0"}
    assert {r["reason"] for r in agents.records() if r["outcome"] == "error"} == {"adapter:fixture"}
    first.stdout.fnmatch_lines(["*the agent raised RuntimeError: out of order*"])
    before = played(agents)
    (agents.path / "broken").unlink()
    assert run(agents, *workers).ret == 0
    assert sorted(played(agents)[len(before) :]) == sorted(f"knowing {each}" for each in errors)
    assert {r["id"]: r["outcome"] for r in agents.records()}.items() >= dict.fromkeys(IDS, "passed").items()


def test_a_run_of_agents_is_replayed_and_judged_again(agents: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run(agents, "--model", FORGETFUL, "--bfcl-repeat=2")
    before, wanted = played(agents), outcomes(agents.records())
    source = f"replay:{agents.path / 'run'}#{FORGETFUL}@fc"
    run(agents, "--bfcl-repeat=2", "-n2", model=source, out="again")
    again = outcomes(agents.records("again"))
    assert again == {key: wanted[key] for key in again}
    assert len([key for key in again if "prereq" not in key[0]]) == 2 * len(IDS)
    assert played(agents) == before
    judged = agents.path / "judged.jsonl"
    assert main(["score", str(agents.path / "run"), "--data", "bundled", "-o", str(judged)]) == 0
    lines = [json.loads(line) for line in judged.read_text().splitlines()]
    assert [line["valid"] for line in lines].count(False) == 2 * 2
    capsys.readouterr()
