"""Rules over answer and request: each finds what it is for, and says nothing of the same entry done right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.lab.answer_rules import answer_defects
from pytest_bfcl.extensions.lab.rules import RULES
from pytest_bfcl.rescoring import open_data

CASES: list[tuple[str | None, str, str, dict[str, Any], list[Any]]] = [
    tuple(json.loads(row))
    for row in Path(__file__).with_name("answer_rules.jsonl").read_text(encoding="utf-8").splitlines()
]
"""The rule or none, the request, the parameter, its schema, the values of the answer."""
ROOMS = {"type": "integer", "description": "Rooms.", "default": 2}


def line(said: str, name: str, schema: dict[str, Any], values: list[Any]) -> dict[str, Any]:
    parameters = {"type": "dict", "properties": {name: schema}, "required": [] if "default" in schema else [name]}
    return {
        "id": "simple_python_0",
        "question": [[{"role": "user", "content": said}]],
        "function": [{"name": "act", "description": "Carries the wish out.", "parameters": parameters}],
        "possible_answer": [{"act": {name: values}}],
    }


def rules_found(folder: Path, entry: dict[str, Any], category: str = "simple_python") -> list[str]:
    (folder / f"{category}.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    return [defect.rule_name for defect in answer_defects(open_data(folder).entry(entry["id"]))]


@pytest.mark.parametrize(("rule", "said", "name", "schema", "values"), CASES)
def test_what_is_found(
    rule: str | None, said: str, name: str, schema: dict[str, Any], values: list[Any], tmp_path: Path
) -> None:
    assert rules_found(tmp_path, line(said, name, schema, values)) == ([rule] if rule else [])


def test_a_call_without_the_value_that_all_others_have(tmp_path: Path) -> None:
    entry = line("Rooms for Ann, Ben and Cleo.", "number_of_rooms", {**ROOMS}, [5])
    entry["possible_answer"] = [{"act": {"number_of_rooms": values}} for values in ([5], [6], [""])]
    entry["id"] = "parallel_0"
    assert rules_found(tmp_path, entry, "parallel") == ["unasked", "unasked", "request_refused"]


def test_every_rule_of_the_table_has_both_sides() -> None:
    rules = {rule for rule, *_ in CASES if rule}
    assert rules <= set(RULES)
    assert len(rules) == 8
