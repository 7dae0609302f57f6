"""The schema of a result line: every line we write satisfies it, a line of other shapes does not."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from pytest_bfcl import run
from pytest_bfcl.runs.result_line import result_line_schema
from pytest_bfcl.runs.summary_types import problem_of_run, problem_of_summary
from pytest_bfcl.scoring.summary import summarise
from pytest_bfcl.settings import Settings
from tests.runs.samples import fingerprint


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Passed, failed, errors and skipped ones: single calls, conversations, both modes."""
    names = ["simple_python", "parallel", "irrelevance", "multi_turn_base", "live_relevance"]
    script = tmp_path_factory.mktemp("script") / "script.json"
    script.write_text(json.dumps({"*": {"error": "server", "message": "down", "status": 503}}))
    models = ["oracle:@fc", "lexical:@prompt", f"scripted:{script}@fc"]
    return [dict(line) for line in run("bundled", models, categories=names, settings=Settings(retries=0)).records]


def test_every_line_satisfies_it(lines: list[dict[str, Any]]) -> None:
    check = jsonschema.Draft202012Validator(result_line_schema())
    assert {line["outcome"] for line in lines} >= {"passed", "failed", "error"}
    for line in lines:
        check.validate(json.loads(json.dumps(line)))


@pytest.mark.parametrize("name", ["id", "category", "model", "mode", "repeat", "outcome"])
def test_what_a_line_must_have(lines: list[dict[str, Any]], name: str) -> None:
    check = jsonschema.Draft202012Validator(result_line_schema())
    assert not check.is_valid({key: value for key, value in lines[0].items() if key != name})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None), ({"models": []}, None), ({"selection": {"shard": "1/2"}}, None),
        ({"selection": {"shard": ["1/2", "2/2"]}}, None),
        ({"selection": {"shard": None}}, None), ({"selection": {"shard": "1"}}, "selection.shard should be I/N"),
        ({"selection": {"shard": ["1/2", "x"]}}, "selection.shard should be I/N"), ({"dataset": None}, "dataset: "),
        ({"left_out": "x"}, "left_out: "), ({"models": [{"parameters": {"temperature": 1}}]}, None),
        ({"models": [{"parameters": {"temperature": None}}]}, None), ({"models": [{}]}, None),
        ({"models": [{"parameters": {"temperature": "x"}}]}, "models.parameters.temperature should be a number"),
        ({"models": [{"parameters": {"temperature": True}}]}, "models.parameters.temperature should be a number"),
    ],
)  # fmt: skip
def test_the_facts_of_a_run(changes: dict[str, Any], problem: str | None) -> None:
    found = problem_of_run({**fingerprint().to_dict(), **changes})
    assert found is None if problem is None else str(found).startswith(problem)


@pytest.mark.parametrize("name", ["dataset", "models", "rules", "rules_version", "conditions"])
def test_what_was_measured_must_be_said(name: str) -> None:
    facts: Any = fingerprint().to_dict()
    del facts[name]
    assert problem_of_run(facts) == f"{name} is missing"


@pytest.mark.parametrize(
    ("interval", "fits"),
    [
        ([0.1, 0.9], True), (None, True), ([0.1], False), ([0.1, 0.5, 0.9], False), ([0.1, 1.1], False),
        ([-0.1, 0.9], False),
    ],
)  # fmt: skip
def test_an_interval_is_two_shares(lines: list[dict[str, Any]], interval: list[float] | None, fits: bool) -> None:
    summary: Any = summarise(lines[:3], fingerprint=fingerprint().to_dict())  # type: ignore[arg-type]
    assert problem_of_summary(summary) is None
    for model in summary["models"].values():
        for found in model["categories"].values():
            found["interval95"] = interval
    assert (problem_of_summary(summary) is None) is fits
