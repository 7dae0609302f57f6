"""An example value fits its schema, in the benchmark's words and in JSON Schema of every draft."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.tools.examples import arguments_for, example_value
from pytest_bfcl.tools.json_schema import argument_problem

TREE = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/T"}},
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"enum": ["", None, "b"]}, "b"), ({"const": 7}, 7), ({"default": "", "type": "string"}, "x"),
        ({"examples": ["e"]}, "e"), ({"type": "integer"}, 1), ({"type": "number", "minimum": 2.5}, 2.5),
        ({"type": "float"}, 1.0), ({"type": "boolean"}, True), ({"type": "null"}, None), ({"type": "String"}, "x"),
        ({"type": "integer", "exclusiveMinimum": 4}, 5), ({"type": "integer", "maximum": 0}, 0),
        ({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, 4), ({"type": "integer", "multipleOf": 5}, 5),
        ({"type": ["null", "integer"]}, 1), ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "minItems": 2}, ["x", "x"]), ({"type": "array", "maxItems": 0}, []),
        ({"items": [{"type": "integer"}, {"type": "string"}], "additionalItems": False}, [1, "x"]),
        ({"prefixItems": [{"type": "integer"}], "items": False}, [1]), ({"properties": {"a": {}}}, {}),
        ({"type": "dict", "properties": {"a": {"type": "integer"}}}, {"a": 1}), ({"type": "dict"}, {}),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1), ({"$ref": "#/$defs/T"}, {"name": "x"}),
        ({"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"required": ["b"]}]}, {"a": "x", "b": "x"}),
        ({"type": "string", "pattern": "^[0-9]{2}-[a-c]$"}, "11-a"), ({"type": "string", "minLength": 6}, "x a a a"),
        ({"type": "string", "pattern": r"\.(png|jpe?g)$", "minLength": 9}, "aaaaa.jpg"),
        ({"type": "string", "pattern": "^X?$"}, "X"), ({"type": "string", "pattern": "^(?=x)"}, "x"),
        ({"$ref": "#/nowhere"}, "x"), ({}, "x"), (None, "x"), (True, "x"),
    ],
)  # fmt: skip
def test_a_value_that_fits(schema: Any, value: Any) -> None:
    root = {"$defs": {"T": TREE}}
    found = example_value("a", schema, lambda name, told: "x", root=root)
    assert found == value
    if isinstance(schema, dict) and "dict" not in str(schema) and "#/nowhere" not in str(schema):
        whole = {"type": "object", "properties": {"a": schema}, **root}
        assert argument_problem(whole, {"a": found}) is None or schema.get("type") in ("float", "String")


def test_a_schema_that_requires_itself_ends() -> None:
    root = {"required": ["a"], "properties": {"a": {"$ref": "#"}}}
    assert str(arguments_for(root, lambda name, told: "x")).count("a") < 20
