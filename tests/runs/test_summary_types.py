"""What keeps a file from being a run's or its summary."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.runs.summary_types import problem_of_run, problem_of_summary
from pytest_bfcl.scoring.summary import summarise
from tests.runs.samples import fingerprint


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


def test_other_values() -> None:
    assert "dictionary" in str(problem_of_run([1]))
    assert problem_of_summary(summarise([], fingerprint=fingerprint().to_dict())) is None
    assert "dictionary" in str(problem_of_summary("x"))
