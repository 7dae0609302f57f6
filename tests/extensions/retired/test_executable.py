"""Results against expected results, from records alone."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.retired.verdicts import wrong_result
from pytest_bfcl.extensions.sql import Outcome
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn

CHECKER = "executable_checker:"


@pytest.mark.parametrize(
    ("value", "expected", "kind", "reason"),
    [
        (5, 5.0, "exact_match", None),
        (5.0000001, 5.0, "exact_match", "wrong_result"),
        (True, 1, "exact_match", "wrong_result"),
        ([1, [2.0]], [1.0, [2]], "exact_match", None),
        ([1, 2], [2, 1], "exact_match", "wrong_result"),
        ([0], [False], "exact_match", "wrong_result"),  # truth values are no numbers
        ({"a": 1}, {"a": 1, "b": 2}, "exact_match", "wrong_result"),
        (119.9, 100, "real_time_match", None),
        (80, 100, "real_time_match", None),
        (121, 100, "real_time_match", "wrong_result_real_time"),
        (-90, -100, "real_time_match", None),
        (-130, -100, "real_time_match", "wrong_result_real_time"),
        ("100", 100, "real_time_match", "wrong_result_real_time"),
        ("a", "a", "real_time_match", "wrong_result_real_time"),
        (float("nan"), 100, "real_time_match", "wrong_result_real_time"),
        ([1, 2], [5, 6], "structural_match", None),
        ([1], [5, 6], "structural_match", "wrong_result_type:list_length"),
        (7, 1.5, "structural_match", None),
        ("7", 1.5, "structural_match", "wrong_result_type"),
        ({"a": 0}, {"a": 1}, "structural_match", None),
        ({}, {"a": 1}, "structural_match", "wrong_result_type:dict_key_not_found"),
        ({"a": 1, "b": 1}, {"a": 1}, "structural_match", "wrong_result_type:dict_extra_key"),
    ],
)
def test_comparison(value: Any, expected: Any, kind: str, reason: str | None) -> None:
    wrong = wrong_result(Outcome(value), expected, kind)
    assert (wrong.reason.name if wrong else None) == (CHECKER + reason if reason else None)


def entry(category: str, answers: list[str], kinds: list[str] | None = None) -> Entry:
    extra: dict[str, Any] = {"execution_result_type": kinds} if kinds else {}
    document = {"name": "f", "description": "", "parameters": {"type": "dict", "properties": {}, "required": []}}
    return Entry(
        id=f"{category}_0", category=category, question=[], function=[document], possible_answer=answers, **extra
    )


def transcript(category: str, text: str, results: list[Any], expected: list[Any] | None) -> Transcript:
    step = Step(Reply(text=text), results=[Outcome(value).text() for value in results])
    made = Transcript(f"{category}_0", category, turns=[Turn(steps=[step])])
    if expected is not None:
        made.extra["expected_results"] = [Outcome(value).text() for value in expected]
    return made


@pytest.mark.parametrize(("results", "expected"), [([], [1]), ([1, 2], [1]), ([1], None), ([1], [])])
def test_missing_results_are_ours(results: list[int], expected: list[int] | None) -> None:
    judged = judge(entry("exec_simple", ["f(x=1)"]), transcript("exec_simple", "f(x=1)", results, expected))
    assert (judged.outcome, judged.reason) == ("error", "harness:not_executed")


def test_unreadable_results_are_ours() -> None:
    made = transcript("exec_simple", "f(x=1)", [1], [1])
    made.steps[0].results = ["17"]
    assert judge(entry("exec_simple", ["f(x=1)"]), made).reason == "harness:data"
