"""Tools of every shape become function documents."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.tools.documents import as_document, translate

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where."},
        "degrees": {"type": ["number", "null"]},
        "days": {"type": "array", "items": {"type": "integer"}},
        "unit": {"enum": ["C", "F", None]},
        "place": {"$ref": "#/$defs/Place"},
        "when": {"anyOf": [{"type": "null"}, {"type": "string", "format": "date"}]},
        "mode": {"const": "now"},
        "many": {"allOf": [{"type": "object", "properties": {"a": {"type": "boolean"}}}, {"required": ["a"]}]},
    },
    "required": ["city"],
    "$defs": {"Place": {"type": "object", "properties": {"near": {"$ref": "#/$defs/Place"}}, "required": ["near"]}},
}
SHAPES: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "w", "description": "Weather.", "parameters": SCHEMA}},
    {"type": "function", "name": "w", "description": "Weather.", "parameters": SCHEMA},
    {"name": "w", "description": "Weather.", "input_schema": SCHEMA},
    {"name": "w", "description": "Weather.", "inputSchema": SCHEMA},
    {"name": "w", "description": "Weather.", "parameters": SCHEMA},
]


def test_a_schema_that_contains_itself_ends() -> None:
    levels, schema = 0, as_document(SHAPES[0])["parameters"]["properties"]["place"]
    while schema["type"] == "dict":
        schema, levels = schema["properties"]["near"], levels + 1
    assert 5 < levels < 40


def test_references_upon_references_end() -> None:
    """Each level names the next one twice: 2 to the power of 30 schemas if nobody counted."""
    levels = {str(n): {"properties": {side: {"$ref": f"#/$defs/{n + 1}"} for side in "ab"}} for n in range(30)}
    assert translate({"$ref": "#/$defs/0", "$defs": levels})["type"] == "dict"


@pytest.mark.parametrize(
    "tool", [{"type": "function", "function": {}}, {"name": "f", "input_schema": {"type": "string"}}]
)
def test_what_is_no_tool(tool: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"name|schema of an object"):
        as_document(tool)
