"""Every field of a stored line is checked: type, allowed values, range."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

from pytest_bfcl.runs import fields
from pytest_bfcl.runs.fields import problem_of, shape_problem
from pytest_bfcl.runs.result_line import ReplayLine, ResultLine, VerdictLine
from tests.runs.samples import single

FREE = {"possible_answer"}
"""Anything may stand here; the checkers look at it."""


def test_every_field_of_the_types_is_checked() -> None:
    typed = {name for kind in (ResultLine, ReplayLine, VerdictLine) for name in get_type_hints(kind)}
    assert typed - FREE == fields._BY_NAME.keys()


def test_a_line_of_a_run_is_fine() -> None:
    for line in (single(), single(valid=False), single(repeat=3)):
        assert problem_of(line) is None
        assert shape_problem(line) is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("id", "", "id is"), ("id", 7, "id is 7"), ("id", None, "id is missing"),
        ("category", "../../x", "not a category"), ("mode", "FC", "not one of fc, prompt"),
        ("repeat", "abc", 'repeat is "abc"'), ("repeat", 0, "repeat is 0"), ("repeat", True, "repeat is true"),
        ("repeat", 1.0, "repeat is 1.0"), ("outcome", None, "outcome is missing"), ("outcome", "PASSED", "outcome is"),
        ("tag", "OOPS", "tag is"), ("model", 1, "model is 1, not text"), ("reason", [], "reason is []"),
        ("latency_s", -0.5, "latency_s is -0.5"), ("latency_s", float("nan"), "latency_s is NaN"),
        ("latency_s", [[1, "x"]], "latency_s is"), ("input_tokens", 10**30, "input_tokens is"),
        ("input_tokens", [[[1]]], "input_tokens is"), ("cost_usd", -1, "cost_usd is -1"),
        ("cost_usd", [1], "cost_usd is [1]"), ("detail", "x", 'detail is "x"'), ("detail", {"turn": -1}, "detail.turn"),
        ("extra", 7, "extra is 7"), ("extra", {"classes": "x"}, "extra.classes"),
        ("extra", {"turn_credit": [0.5]}, "extra.turn_credit"), ("calls", "f()", "calls is"),
        ("output", 7, "output is 7"), ("output", [{"name": 1, "arguments": "{}"}], "output is"),
        ("output", [[["x"]]], "output is"), ("tool_results", [["x"]], "tool_results is"),
        ("finish_reasons", [[1]], "finish_reasons is"), ("underscore_names", "yes", "underscore_names is"),
        ("corrected_rules", [1], "corrected_rules is"), ("started_at", 5, "started_at is 5"),
    ],
)  # fmt: skip
def test_what_no_run_writes_is_named(name: str, value: Any, said: str) -> None:
    line: Any = {**single(), name: value}
    assert said in (problem_of(line) or shape_problem(line) or "")


@pytest.mark.parametrize("name", fields.RESULT)
def test_a_missing_field_is_named(name: str) -> None:
    line: Any = single()
    del line[name]
    assert problem_of(line) == f"{name} is missing"
