"""Language hints (data spec §6, point 6)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from pytest_bfcl.dataset.expansion import with_hints
from pytest_bfcl.fetching.texts import Texts

HINTS = Texts.own().hints
MEMBERS = {"a": {"type": "String", "description": "x"}}


def document(**properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "dict", "properties": properties, "required": list(properties)}
    return {"name": "f", "description": "Does it.", "parameters": parameters}


@pytest.mark.parametrize(
    ("language", "schema", "keys", "told"),
    [
        ("java", {"type": "any"}, {}, HINTS["java.any"]),
        ("java", {"type": "long", "default": 3}, {"default": 3}, "long"),
        ("java", {"type": "ArrayList", "items": {"type": "char"}}, {}, "ArrayList char"),
        ("java", {"type": "Array", "items": {"type": "char"}}, {}, "Array char"),
        ("java", {"type": "HashMap", "properties": MEMBERS}, {"properties": MEMBERS}, "HashMap"),
        ("javascript", {"type": "array", "items": {"type": "float"}}, {}, "array float"),
        ("javascript", {"type": "dict", "properties": MEMBERS}, {}, json.dumps(MEMBERS)),
        ("javascript", {"type": "dict"}, {}, "dict"),
    ],
)  # fmt: skip
def test_parameters_become_texts(language: Any, schema: dict[str, Any], keys: dict[str, Any], told: str) -> None:
    """Elements are named and lose ``items``; of objects only those of JavaScript are written out."""
    original = document(p={"description": "A value.", **schema})
    before = copy.deepcopy(original)
    (result,) = with_hints([original], language, Texts.own())
    made = result["parameters"]["properties"]["p"]
    assert result["description"] == "Does it." + HINTS[f"{language}.function"]
    description = made.pop("description")
    assert made == {"type": "string", **keys}
    assert description.startswith("A value.")
    assert all(word in description for word in ([told] if told.startswith((" ", "{")) else told.split()))
    assert original == before


@pytest.mark.parametrize("twice", [False, True])
def test_python_documents_get_a_sentence(twice: bool) -> None:
    """Those of format sensitivity get it twice."""
    original = document(p={"type": "array", "items": {"type": "integer"}, "description": "Numbers."})
    (result,) = with_hints([original], "python", Texts.own(), twice=twice)
    assert result == {**original, "description": "Does it." + (1 + twice) * HINTS["python.function"]}


def test_documents_without_descriptions_or_parameters() -> None:
    (result,) = with_hints([{"name": "f"}], "java", Texts.own())
    assert result == {"name": "f", "description": HINTS["java.function"], "parameters": {"properties": {}}}
