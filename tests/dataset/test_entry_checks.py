"""Checks of own entries: every rule with an entry that breaks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.opening import open_dataset

from .test_loading import CLASS_DOCUMENTS, FUNCTION, line, write


def messages(tmp_path: Path, entry_id: str = "e", **fields: Any) -> list[str]:
    dataset = open_dataset(
        write(tmp_path / "own.jsonl", line(entry_id, **fields)), documents=CLASS_DOCUMENTS.__getitem__
    )
    return problems_of(dataset)


def problems_of(dataset: DataSet) -> list[str]:
    refs = [ref for name in dataset.categories() for ref in dataset.index(name)]
    return [f"{problem.severity}: {problem.message}" for ref in refs for problem in dataset.entry_problems(ref)]


def with_schema(**schema: Any) -> dict[str, Any]:
    parameters = {"type": "dict", "properties": {"room": {"description": "", **schema}}, "required": ["room"]}
    return {"function": [{**FUNCTION, "parameters": parameters}], "possible_answer": [{"lamp.switch": {"room": ["x"]}}]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"question": []}, "the question has no turn"),
        ({"question": [[{"role": "user", "content": "a"}]] * 2}, "entries have one turn, this one has 2"),
        ({"question": [[]]}, "turn 0 is empty"),
        ({"question": [[{"role": "boss", "content": "a"}]]}, "role 'boss' is none of"),
        ({"question": [[{"role": "user", "content": ""}]]}, "has no content"),
        ({"possible_answer": None}, "no possible_answer"),
        ({"possible_answer": [{"lamp.switch": {"room": ["a"]}}] * 2}, "expect one call, the answer has 2"),
        ({"function": [FUNCTION, {**FUNCTION, "name": "b"}]}, "offer one function, this one offers 2"),
        ({"possible_answer": [{"lamp.dim": {}}]}, "the answer calls 'lamp.dim', which is not offered"),
        ({"possible_answer": [{"lamp.switch": [1]}]}, "an expected call is one object"),
        ({"possible_answer": [{"lamp.switch": {"room": "hall"}}]}, "not a list of acceptable values"),
        ({"possible_answer": [{"lamp.switch": {"room": []}}]}, "the list of acceptable values is empty"),
        (
            {"possible_answer": [{"lamp.switch": {"room": ["a"], "hue": [1]}}]},
            "error: possible_answer[0].lamp.switch.hue: the answer names",
        ),
        (
            {"possible_answer": [{"lamp.switch": {"room": ["a"], "hue": [""]}}]},
            "warning: possible_answer[0].lamp.switch.hue: the answer",
        ),
        ({"possible_answer": [{"lamp.switch": {"on": [True]}}]}, "room: required, but the answer has no acceptable"),
        ({"possible_answer": [{"lamp.switch": {"room": [""]}}]}, 'room: required, but the only acceptable value is ""'),
        (with_schema(type="object"), "type 'object' is not one the checkers know for python; use 'dict'"),
        (with_schema(type="String"), "type 'String' is not one the checkers know for python"),
        (with_schema(type="array"), 'a list needs "items" with a "type"'),
        (with_schema(type="array", items={}), 'a list needs "items" with a "type"'),
        ({"function": [{**FUNCTION, "name": "a b"}]}, "function name 'a b'"),
        ({"function": [{**FUNCTION, "name": "a" * 65}]}, "warning: function[0].name"),
        ({"function": [{**FUNCTION, "parameters": {**FUNCTION["parameters"], "type": "x"}}]}, 'is "dict" in benchmark'),
        (
            {
                "possible_answer": [{"lamp.switch": {"room": ["x"], "on": [""]}}],
                "function": [{**FUNCTION, "description": 1}],
            },
            "no description",
        ),
        ({"function": [{**FUNCTION, "parameters": None}]}, '"parameters" must be an object'),
        (
            {"function": [{**FUNCTION, "parameters": {"type": "dict", "properties": {}, "required": ["z"]}}]},
            "required parameter 'z' is not documented",
        ),
        (
            {"category": "multiple", "function": [FUNCTION, {**FUNCTION, "name": "lamp_switch"}]},
            "functions 'lamp.switch' and 'lamp_switch' have one name on the wire",
        ),
    ],
)
def test_single_turn_problems(tmp_path: Path, fields: dict[str, Any], expected: str) -> None:
    assert any(expected in message for message in messages(tmp_path, **fields)), messages(tmp_path, **fields)


STATE = {
    "category": "multi_turn_base",
    "function": [],
    "involved_classes": ["Lamps"],
    "possible_answer": [["lamp.switch(room='hall')"]],
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"involved_classes": [], "function": [FUNCTION]}, "no involved_classes"),
        ({"possible_answer": []}, "no possible_answer"),
        ({"possible_answer": [[], []]}, "1 turns in the question, 2 in the answer"),
        ({"possible_answer": ["lamp.switch()"]}, "turn 0 of the answer is not a list"),
        ({"possible_answer": [["lamp.switch(room="]]}, "not one call in Python syntax"),
        ({"possible_answer": [["lamp.switch(room='a'), 1"]]}, "not one call in Python syntax"),
        ({"possible_answer": [["explode()"]]}, "the answer calls 'explode', which is not offered"),
        ({"missed_function": {"4": ["lamp.dim"]}}, "held-out functions arrive at turn 4"),
        ({"involved_classes": ["Nobody"]}, "no tool documents"),
    ],
)
def test_multi_turn_problems(tmp_path: Path, fields: dict[str, Any], expected: str) -> None:
    def documents(name: str) -> list[dict[str, Any]]:
        from pytest_bfcl.failures import UsageError

        if name not in CLASS_DOCUMENTS:
            raise UsageError(f"no simulator {name}")
        return [{**doc, "name": doc["name"].replace("lamp.", "")} for doc in CLASS_DOCUMENTS[name]]

    values = {**STATE, **fields}
    path = write(tmp_path / "own.jsonl", line("e", **values))
    found = problems_of(open_dataset(path, documents=documents))
    assert any(expected in message for message in found), found


TRIAL = {"category": "mcp", "mcp": "shop", "function": [], "possible_answer": None, "expect": [{"answer": "x"}]}
TOLD = {**TRIAL, "category": "recorded", "mcp": None, "function": [FUNCTION],
        "results": [{"call": "lamp.switch", "result": "on"}]}  # fmt: skip


REST, EXECUTED = {"category": "rest"}, {"category": "exec_simple", "possible_answer": ["lamp.switch()"]}


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        (TRIAL, {}, None), (TRIAL, {"possible_answer": [["f()"]], "files": {"a.txt": ""}}, None), (TOLD, {}, None),
        (TRIAL, {"mcp": None}, "no mcp"), (TRIAL, {"expect": []}, "no expect"),
        (TRIAL, {"expect": [{"answer": "x", "turn": 1}]}, "expect[0].turn: turn 1 does not exist, there are 1"),
        (TRIAL, {"expect": [{"answer": "x", "call": "y"}]}, "expect.0"),
        (TRIAL, {"expect": [{"call": "y"}]}, "expect.0"),
        (TRIAL, {"expect": [{"call": "y", "equals": 1, "contains": 1}]}, "expect.0"),
        (TRIAL, {"possible_answer": [["f()"], []]}, "may show the way"),
        (TRIAL, {"possible_answer": ["f()"]}, "the way"),
        (TRIAL, {"files": {"../a": ""}}, "no path below the trial's directory"),
        (TRIAL, {"results": TOLD["results"]}, 'only entries of the category "recorded"'),
        (TOLD, {"mcp": "shop"}, 'are of the category "mcp"'), (TOLD, {"files": {"a": ""}}, "have a directory"),
        (TOLD, {"function": []}, "no function is offered"),
        (TOLD, {"results": [{"call": "other", "result": ""}]}, "results[0].call: 'other' is not offered"),
        (TOLD, {"expect": [{"call": "f", "equals": 1}]}, "recorded tools have no state"),
        (REST, {"possible_answer": ["{}"]}, None), (REST, {"possible_answer": ["{"]}, "one rec"),
        (REST, {"possible_answer": ["{}", "{}"]}, "must be one recorded response"),
        (EXECUTED, {"possible_answer": ["lamp.switch(room='a')"]}, None),
        (EXECUTED, {"possible_answer": ["lamp.switch(room='a', **{})"]}, None),
        (EXECUTED, {"possible_answer": ["lamp.switch(hue=1)"]}, "hue: the answer names a parameter"),
        (EXECUTED, {"possible_answer": []}, "give the expected calls as texts"),
        (EXECUTED, {"execution_result_type": "near"}, "'near'"),
        (EXECUTED, {"execution_result_type": "exact_match"}, None),
    ],
)  # fmt: skip
def test_entries_whose_calls_are_carried_out(
    tmp_path: Path, kind: dict[str, Any], fields: dict[str, Any], expected: str | None
) -> None:
    found = messages(tmp_path, **{**kind, **fields})
    assert any(expected in message for message in found) if expected else found == []
