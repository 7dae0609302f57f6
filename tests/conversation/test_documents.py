"""Function documents as text, in the three layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.conversation.prompts import documents_text

MEMBERS: dict[str, Any] = {
    "a": {"type": "integer", "description": "A.", "default": 3},
    "b": {"type": "array", "items": {"type": "string"}, "description": "B.", "enum": ["x", "y"]},
    "c": {"type": "dict", "description": "C.", "properties": {"d": {"type": "object", "properties": {"e": {}}}}},
    "f": {"type": "dict", "additionalProperties": {"type": "float"}, "default": [1, 2]},
    "g": {"type": "tuple"}, "h": {"type": "Long", "items": "x"}, "i": {"type": "object", "additionalProperties": True},
    "j": {"type": "array", "items": {}}, "k": {"type": "array", "properties": {"l": {}}},
    "m": {"type": "string", "additionalProperties": {"type": "float"}},
}  # fmt: skip
DOCUMENT: dict[str, Any] = {
    "name": "x.f", "description": "Does.\nMore.",
    "parameters": {"type": "dict", "properties": MEMBERS, "required": ["a", "c"]}
}  # fmt: skip


@pytest.mark.parametrize(("layout", "documents"), [("python", [DOCUMENT, {"name": "g"}]), ("xml", [DOCUMENT])])
def test_layouts_of_prompts(layout: Any, documents: list[Any]) -> None:
    """Every line and space as the reference writes them: `documents/`."""
    shown = Path(__file__).with_name("documents") / f"{layout}.txt"
    assert documents_text(documents, layout) == shown.read_bytes().decode()


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [DOCUMENT],
        [DOCUMENT, {"name": "é", "x": [float("inf"), 1.5, None, True, "a\nb", {}, []]}],
        [{"name": "\ud800"}],
    ],
)
def test_json(documents: list[Any]) -> None:
    assert documents_text(documents) == json.dumps(documents, indent=4)
