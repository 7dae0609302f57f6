"""Every field of a stored line is checked (type, allowed values, range), and has its place in the schema."""

from __future__ import annotations

import json
from typing import Any, get_type_hints

import jsonschema
import pytest

from pytest_bfcl import run
from pytest_bfcl.runs import fields
from pytest_bfcl.runs.fields import problem_of, shape_problem
from pytest_bfcl.runs.result_line import ReplayLine, ResultLine, result_line_schema
from pytest_bfcl.runs.summary_types import problem_of_run
from pytest_bfcl.settings import Settings
from tests.runs.samples import fingerprint, single

FREE = {"possible_answer"}
"""Anything may stand here; the checkers look at it."""


def test_every_field_of_the_types_is_checked() -> None:
    typed = {name for kind in (ResultLine, ReplayLine) for name in get_type_hints(kind)}
    assert typed - FREE == fields._WANTED["line"].keys()


FITS: dict[str, tuple[list[Any], list[Any]]] = {
    # field → what fits and what does not
    "id": (["a", "x" * 1000], ["", "x" * 1001, "a\ud800", 1]),
    "model": (["", "é"], ["\udfff", "\ud800", 1]),
    "repeat": ([1, 10**15], [0, 10**15 + 1, True, 1.0]),
    "tag": (["WRONG_ANSWER"], ["", 1]),
    "verified_outcome": (["passed", "excluded"], ["x"]),
    "official_outcome": (["passed"], ["excluded"]),
    "inference_error": (["x", True], [1]),
    "corrected_rules": ([[], ["C1"]], ["C1", [1]]),
    "tool_results": ([[], [[["a"], []]]], [[["a"]], [[[1]]], [1], "x"]),
    "reasoning": (["x", [["x", None]], []], [[[1]], ["x"], 1]),
    "latency_s": ([0, 1.5, [[0, None]]], [-1, True, [[-1]], [1], "1", float("inf"), 1e15 + 1]),
    "call_form": ([{}, {"a": 1}], [{"a": -1}, {"a": 1.0}, []]),
    "served": ([{}, {"id": "i"}, [[{"id": "i"}, None]]], [{"id": 1}, [[{"id": 1}]], [{"id": "i"}], "x"]),
    "cost_usd": ([0, 0.5], [-0.1, [1], "1"]),
    "trajectory": ([[]], ["x"]),
    "official": ([{}], [[]]),
    "tool_call_tag": ([True], [1]),
    "valid": ([False], [0]),
    "rules": (["official", "corrected"], ["x"]),
    "category": (["live_simple"], ["x", ["x"], "../../x"]),
    "mode": (["fc"], ["FC"]),
    "outcome": (["passed"], ["PASSED"]),
    "reason": (["x"], [[]]),
    "detail": ([{}], [7]),
    "extra": ([{}], [7]),
    "output": (["x", []], [7]),
    "calls": ([[]], ["f()"]),
    "input_tokens": ([1], [10**30, [[[1]]]]),
    "finish_reasons": (["x"], [[[1]]]),
    "underscore_names": ([True], ["yes"]),
    "started_at": (["x"], [5]),
}


@pytest.mark.parametrize("name", FITS)
def test_what_fits_a_field(name: str) -> None:
    good, bad = FITS[name]
    line: Any = single()
    assert [
        value for value in [*good, *([] if name in fields.RESULT else [None])] if problem_of({**line, name: value})
    ] == []
    if name in fields.RESULT:
        assert problem_of({**line, name: None}) == f"{name} is missing"
    assert [value for value in bad if not (problem_of({**line, name: value}) or "").startswith(f"{name} is ")] == []


@pytest.mark.parametrize(
    ("name", "inner", "said"),
    [
        ("detail", {"turn": 0, "sub_errors": [], "rule": "r", "other": 1}, None), ("detail", {"turn": None}, None),
        ("detail", {"turn": 1.0}, "detail.turn is 1.0, not a whole number from 0"),
        ("detail", {"rule": 1}, "detail.rule is 1, not text"),
        ("detail", {"missing": "x"}, 'detail.missing is "x", not a list'),
        ("extra", {"rule": 1, "hops": 2, "classes": ["a"], "turn_credit": [0, 1, True], "steps": [1]}, None),
        ("extra", {"turn_credit": [2]}, "extra.turn_credit is [2], not a list of 0 and 1"),
        ("extra", {"turn_credit": [1.0]}, "extra.turn_credit is [1.0], not a list of 0 and 1"),
        ("extra", {"turn_credit": 1}, "extra.turn_credit is 1, not a list of 0 and 1"),
        ("extra", {"steps": [-1]}, "extra.steps is [-1], not a list of whole numbers from 0"),
        ("extra", {"steps": 1}, "extra.steps is 1, not a list of whole numbers from 0"),
        ("extra", {"classes": [1]}, "extra.classes is [1], not a list of texts"),
    ],
)  # fmt: skip
def test_what_fits_inside(name: str, inner: Any, said: str | None) -> None:
    line: Any = {**single(), name: inner}
    assert problem_of(line) == said
    del line["outcome"]
    assert problem_of(line, fields.KEY) is None


def test_an_entry_is_no_line() -> None:
    assert str(problem_of({"id": "a", "question": []})).startswith("this is an entry without a reply")
    assert problem_of({"id": "a", "question": [], "output": "x"}) == "category is missing"


def test_nesting_inside_is_bounded() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    for name in ("detail", "extra"):
        assert problem_of({**single(), name: {"x": deep}}) is None
        assert problem_of({**single(), name: {"x": [deep]}}) == f"{name} is nested deeper than 60 levels"
        assert problem_of({**single(), name: {}}) is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({}, None), ({"detail": "x"}, 'detail is "x", not an object'),
        ({"output": {"a": 1}}, 'output is {"a": 1}, not text or a list'),
        ({"output": "x"}, None), ({"output": None}, None), ({"output": []}, None), ({"output": [[]]}, None),
        ({"output": [[None, "x", [{"name": "f", "arguments": "{}"}]]]}, None),
        ({"output": [{"name": "f", "arguments": {}}]},
         'output is [{"name": "f", "arguments": {}}], not a reply, nor turns of steps of replies'),
        ({"output": [{"arguments": ""}]}, 'output is [{"arguments": ""}], not a reply, nor turns of steps of replies'),
        ({"output": ["x"]}, 'output is ["x"], not a reply, nor turns of steps of replies'),
        ({"output": [[7]]}, "output is [[7]], not a reply, nor turns of steps of replies"),
    ],
)  # fmt: skip
def test_the_shape_of_outputs(line: Any, said: str | None) -> None:
    assert shape_problem(line) == said


def test_values_in_messages_are_short() -> None:
    assert [len(fields.shortened_json("x" * length)) for length in (58, 59, 500)] == [60, 60, 60]
    assert fields.shortened_json("x" * 59).endswith("x…")
    assert fields.shortened_json({1, 2}) == "<set>"


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
