"""`pytest_bfcl.run` and the plugin leave the same results files behind, times aside, whatever happens in a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Price, Settings

from .conftest import Project, call, question, write_lines

TIMES = ("started_at", "duration_s", "latency_s", "worker")
BUNDLED = Path(__file__).resolve().parents[2] / "data"


def without_times(folder: Path) -> list[dict[str, Any]]:
    """The lines of results.jsonl, ordered by key; every other field as it stands, in the order it stands."""
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    return sorted(
        ({name: value for name, value in line.items() if name not in TIMES} for line in lines),
        key=lambda line: (str(line["id"]), line["repeat"]),
    )


def scores(folder: Path) -> dict[str, Any]:
    """The models' part of summary.json without latencies."""
    models = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["models"]
    return {name: {key: value for key, value in model.items() if key != "latency"} for name, model in models.items()}


def assert_same(ours: Path, theirs: Path) -> list[dict[str, Any]]:
    """Both folders hold the same lines and scores; returns the lines."""
    library, plugin = without_times(ours), without_times(theirs)
    assert [line["id"] for line in library] == [line["id"] for line in plugin]
    assert [list(line) for line in library] == [list(line) for line in plugin]
    for mine, other in zip(library, plugin, strict=True):
        assert mine == other
    assert scores(ours) == scores(theirs)
    timed = [[json.loads(line) for line in (folder / "results.jsonl").open()] for folder in (ours, theirs)]
    for name in TIMES[:3]:  # a time is there in both or in neither
        there = [{(line["id"], line["repeat"]): line[name] is None for line in lines} for lines in timed]
        assert there[0] == there[1], name
    return library


@dataclass(frozen=True)
class Case:
    """One way a run can go: what lies in the data folder, how it is asked, and what must show in the lines."""

    shows: Callable[[list[dict[str, Any]]], bool]
    fill: Callable[[Path], object] = lambda folder: None
    script: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    options: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    model: str = "scripted:script.json"


def bundled(*names: str, keep: int = 2) -> Callable[[Path], None]:
    """Puts the first entries of bundled files into a folder, with the pages of the local web."""

    def fill(folder: Path) -> None:
        for name in names:
            lines = (BUNDLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[:keep]
            write_lines(folder / f"{name}.jsonl", list(lines))
        if any(name.startswith("memory") for name in names):
            shutil.copytree(BUNDLED / "memory_prereq", folder / "memory_prereq")
        shutil.copytree(BUNDLED / "web", folder / "web")

    return fill


def outcomes(lines: list[dict[str, Any]]) -> set[str]:
    return {line["outcome"] for line in lines}


ONE_BY_ONE = ("--bfcl-concurrency=1",)

CASES = {
    "errors": Case(
        lambda lines: {"adapter:server", "adapter:quota"} <= {line["reason"] for line in lines},
        script={
            "simple_python_1": {"error": "server", "message": "it is down", "status": 503},
            "live_simple_1-1-0": {"error": "quota", "message": "all used", "retryable": False},
            "multiple_1": {"problem": "length", "text": "get_wea"},
        },
        settings=Settings(retries=0),
        options=("--bfcl-retries=0",),
    ),
    "an answer nobody can judge by": Case(
        lambda lines: any(line["reason"] == "harness:data" and not line["output"] for line in lines),
        fill=lambda folder: write_lines(
            folder / "parallel.jsonl", [question("parallel_0") | {"possible_answer": ["call it"]}]
        ),
    ),
    "an error in the middle of a conversation": Case(
        lambda lines: any(line["outcome"] == "error" and line["output"] for line in lines),
        fill=bundled("multi_turn_base"),
        script={"multi_turn_base_0": ["All done.", {"error": "server", "message": "gone"}]},
        settings=Settings(retries=0),
        options=("--bfcl-retries=0",),
        categories=("multi_turn",),
    ),
    "skips": Case(
        lambda lines: "skipped" in outcomes(lines),
        fill=bundled("web_search"),
        settings=Settings(search="serpapi"),
        options=("--bfcl-search=serpapi",),
    ),
    "memory": Case(
        lambda lines: len({line["category"] for line in lines}) == 2,
        fill=bundled("memory"),
        script={"*": "I do not know."},
        categories=("memory_kv",),
    ),
    "a write stage that fails": Case(
        lambda lines: sum(line["outcome"] == "error" for line in lines) > 2,
        fill=bundled("memory"),
        script={"*": "I do not know.", "memory_kv_prereq_0-student-0": {"error": "server", "message": "gone"}},
        settings=Settings(retries=0),
        options=("--bfcl-retries=0",),
        categories=("memory_kv",),
    ),
    "retired": Case(
        lambda lines: "passed" in outcomes(lines),
        fill=bundled("exec_simple", "rest", "sql", "chatable"),
        categories=("retired",),
        model="oracle:@fc",
    ),
    "price": Case(
        lambda lines: any(line["cost_usd"] for line in lines),
        script={"*": {"tool_calls": call(), "input_tokens": 10, "output_tokens": 2}},
        settings=Settings(price=Price(1000.0, 2000.0)),
        options=("--bfcl-price=1000,2000",),
    ),
    "budget": Case(
        lambda lines: 0 < len(lines) < 11,
        script={"*": {"tool_calls": call(), "input_tokens": 10, "output_tokens": 2}},
        settings=Settings(price=Price(1000.0, 2000.0), budget_usd=0.05, concurrency=1),
        options=("--bfcl-price=1000,2000", "--bfcl-budget=0.05", *ONE_BY_ONE),
    ),
    "repeats": Case(
        lambda lines: {line["repeat"] for line in lines} == {1, 2},
        script={"simple_python_1#2": call("Rome")},
        settings=Settings(repeat=2),
        options=("--bfcl-repeat=2",),
    ),
    "corrected rules": Case(
        lambda lines: all(line["rules"] == "corrected" for line in lines),
        settings=Settings(rules="corrected"),
        options=("--bfcl-rules=corrected",),
    ),
    "refused tools": Case(
        lambda lines: {line["mode"] for line in lines} == {"prompt"},
        script={"*": {"error": "tools_refused", "times": 1, "then": '[get_weather(city="Oslo")]'}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_lines_whatever_happens(name: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    monkeypatch.delenv("SERPAPI_API_KEY", raising=False)
    monkeypatch.chdir(project.path)
    if case.categories:
        shutil.rmtree(project.path / "bench")
    case.fill(project.path / "bench")
    project.script |= case.script
    selected = (f"--bfcl-categories={','.join(case.categories)}",) if case.categories else ()
    project.run("-q", "--tb=no", *selected, *case.options, model=case.model, out="plugin")
    run("bench", case.model, categories=case.categories or None, out=project.path / "library", settings=case.settings)
    lines = assert_same(project.path / "library", project.path / "plugin")
    assert case.shows(lines), [(line["id"], line["outcome"], line["reason"]) for line in lines]
