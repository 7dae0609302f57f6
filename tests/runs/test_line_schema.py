"""The schema of a result line: every line we write satisfies it, a line of other shapes does not."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from pytest_bfcl import run
from pytest_bfcl.runs.result_line import result_line_schema
from pytest_bfcl.settings import Settings


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
    "change",
    [
        {"outcome": "good"}, {"repeat": 0}, {"mode": None}, {"id": 7}, {"input_tokens": "12"}, {"calls": "f()"},
        {"corrected_rules": "C1"}, {"detail": []}, {"cost_usd": "0.1"}, {"unreviewed": "no"},
    ],
)  # fmt: skip
def test_other_shapes_do_not(lines: list[dict[str, Any]], change: dict[str, Any]) -> None:
    check = jsonschema.Draft202012Validator(result_line_schema())
    assert not check.is_valid(json.loads(json.dumps(lines[0] | change)))


@pytest.mark.parametrize("name", ["id", "category", "model", "mode", "repeat", "outcome"])
def test_what_a_line_must_have(lines: list[dict[str, Any]], name: str) -> None:
    check = jsonschema.Draft202012Validator(result_line_schema())
    assert not check.is_valid({key: value for key, value in lines[0].items() if key != name})
