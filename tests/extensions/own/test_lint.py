"""Every warning with an entry that earns it, and the entry that earns none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.extensions.own.own_entry import lint_entry
from pytest_bfcl.extensions.own.validation import unprovable
from pytest_bfcl.settings import Settings

BOOK: dict[str, Any] = {
    "name": "book_room",
    "description": "Reserve a room in a hotel.",
    "parameters": {
        "type": "dict",
        "properties": {
            "city": {"type": "string", "description": "Where the hotel is."},
            "nights": {"type": "integer", "description": "How long the guest stays."},
            "view": {"type": "string", "enum": ["sea", "yard"], "description": "Where the windows look to."},
        },
        "required": ["city", "nights"],
    },
}
SAID = "A room in Riga for three nights, facing the sea."
ANSWER = {"book_room": {"city": ["Riga"], "nights": [3], "view": ["sea"]}}


def entry(tmp_path: Path, said: str = SAID, answer: Any = ANSWER, functions: Any = (BOOK,), **fields: Any) -> Any:
    line = {
        "id": "own_0", "function": list(functions),
        "question": [[{"role": "user", "content": said}]], "possible_answer": [answer], **fields,
    }  # fmt: skip
    if len(functions) > 1:
        line["category"] = "multiple"
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(line))
    return open_dataset(path).entry("own_0")


def changed(**properties: Any) -> dict[str, Any]:
    parameters = BOOK["parameters"]
    return {**BOOK, "parameters": {**parameters, "properties": {**parameters["properties"], **properties}}}


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"functions": [{**BOOK, "description": "A function."}]}, "function[0].description", "says nothing"),
        (
            {"functions": [changed(city={"type": "string", "description": "The value."})]},
            "function[0].parameters.properties.city.description",
            "says nothing",
        ),
        (
            {"functions": [changed(nights={"type": "integer", "description": "Where the hotel is."})]},
            "function[0].parameters.properties.nights.description",
            "described word for word like 'city'",
        ),
        (
            {"functions": [BOOK, {**BOOK, "name": "reserve", "description": "Reserves rooms in hotels"}]},
            "function[1].description",
            "cannot tell 'book_room' and 'reserve' apart",
        ),
        (
            {"answer": {"book_room": {**ANSWER["book_room"], "view": ["lake"]}}},
            "possible_answer[0].book_room.view",
            "'lake' is not in the enum",
        ),
        (
            {"answer": {"book_room": {**ANSWER["book_room"], "nights": ["3"]}}},
            "possible_answer[0].book_room.nights",
            "'3' is no integer",
        ),
        (
            {"said": "A room for three nights, facing the sea."},
            "possible_answer[0].book_room.city",
            "nothing in the request says this value",
        ),
        ({"said": "A room in Riga by the sea."}, "possible_answer[0].book_room.nights", "nothing in the request"),
        ({"categry": "multiple"}, "categry", "did you mean 'category'?"),
        ({"reviewed": False}, "reviewed", "nobody has read this entry"),
    ],
)
def test_each_warning(tmp_path: Path, fields: dict[str, Any], field: str, message: str) -> None:
    found = lint_entry(entry(tmp_path, **fields))
    assert [(finding.field, finding.severity) for finding in found] == [(field, "warning")]
    assert message in found[0].message


def test_a_ground_truth_that_does_not_pass_is_told(tmp_path: Path) -> None:
    """What the checks cannot see: values of a type that can never match, a conversation that comes out otherwise."""
    state = {"GorillaFileSystem": {"root": {"a": {"type": "directory", "contents": {}}}}}
    lines: list[dict[str, Any]] = [
        {"id": "good", "question": SAID, "function": [BOOK], "possible_answer": [ANSWER]},
        {"id": "typed", "question": SAID, "function": [changed(view={"type": "dict", "description": "Sides."})],
         "possible_answer": [{"book_room": {**ANSWER["book_room"], "view": [{"window": "sea"}]}}]},
        {"id": "turns", "category": "multi_turn_base", "initial_config": state,
         "involved_classes": ["GorillaFileSystem"],
         "question": [[{"role": "user", "content": "Where am I?"}]], "possible_answer": [["pwd()"]]},
    ]  # fmt: skip
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    from pytest_bfcl.rescoring import open_data

    data = open_data(path)
    found = unprovable(data, [ref for name in data.categories() for ref in data.index(name)], Settings(search="local"))
    assert [(problem.entry_id, problem.line) for problem in found] == [("typed", 2)]
    assert "the ground truth itself does not pass" in found[0].message


@pytest.mark.parametrize(
    ("value", "said", "counts"),
    [
        ("interface", "The internal one, please.", False),
        ("community", "Our committee meets in Riga for three nights.", False),
        ("orders", "Every order in Riga.", True),
        ("cancelled", "What was cancelling about?", True),
        ("cities", "Which city is it?", True),
        ("Riga, Latvia", "In Riga.", True),
    ],
)
def test_a_value_is_said_by_a_form_of_its_word(value: str, said: str, counts: bool, tmp_path: Path) -> None:
    line = entry(tmp_path, f"{said} Three nights by the sea.", {"book_room": {**ANSWER["book_room"], "city": [value]}})
    assert any("nothing in the request" in str(each) for each in lint_entry(line)) is not counts
