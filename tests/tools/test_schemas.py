"""Function documents on the wire (data spec §9)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.tools.documents import translate
from pytest_bfcl.tools.json_schema import argument_problem, arguments_for, example_value, is_valid
from pytest_bfcl.tools.schemas import compile_tools, surely_fits, wire_names

DOC = {
    "name": "shop.item.find",
    "description": "Finds things.",
    "parameters": {
        "type": "dict",
        "properties": {
            "count": {"type": "integer", "description": "How many."},
            "weight": {"type": "float", "description": "Kilograms."},
            "exact": {"type": "double", "description": "Exactly."},
            "who": {"type": "any"},
            "flag": {"type": "Boolean"},
            "odd": {"type": ""},
            "untyped": {"description": "nothing"},
            "pair": {"type": "tuple", "items": {"type": "float"}},
            "grid": {"type": "array", "items": {"type": "array", "items": {"type": "float"}}},
            "rows": {"type": "ArrayList", "items": {"type": "dict", "properties": {"w": {"type": "float"}}}},
            "bag": {
                "type": "HashMap",
                "properties": {"inner": {"type": "long", "enum": [1, 2]}},
                "required": ["inner"],
            },
            "bare": {"type": "array"},
        },
        "required": ["count"],
        "optional": ["weight"],
    },
    "response": {"type": "dict", "properties": {}},
}


def test_styles():
    assert compile_tools([DOC])[0]["function"]["response"] == DOC["response"]
    responses = compile_tools([DOC], "responses")[0]
    assert (responses["type"], responses["name"]) == ("function", "shop_item_find")
    anthropic = compile_tools([DOC], "anthropic")[0]
    assert set(anthropic) == {"name", "description", "input_schema"}
    assert '"type": "dict"' in anthropic["description"]
    amazon = compile_tools([DOC], "amazon")[0]["toolSpec"]
    assert amazon["inputSchema"]["json"]["type"] == "object"
    with pytest.raises(UsageError, match="openai"):
        compile_tools([DOC], "morse")


def test_wire_names_are_legal_and_unique():
    long = "a" * 70
    names = wire_names([{"name": n} for n in ("a.b", "a_b", "plain", "sp ace!", long, long + "x", "a.b", "...")])
    assert list(names.values()) == ["a.b", "a_b", "plain", "sp ace!", long, long + "x", "..."]
    assert names["a_b"] == "a.b"
    assert all(
        (0 < len(wire) <= 64 and wire.replace("_", "").replace("-", "").isalnum()) or wire == "___" for wire in names
    )
    tools = compile_tools([{"name": n, "parameters": {}} for n in ("a.b", "a_b")])
    assert len({tool["function"]["name"] for tool in tools}) == 2
    assert wire_names([{"name": "a_b"}]) == {"a_b": "a_b"}


def test_every_official_document_compiles(official):
    words = {"integer", "number", "string", "boolean", "array", "object"}

    def types(schema):
        if isinstance(schema, dict):
            if isinstance(schema.get("type"), str):
                yield schema["type"]
            for value in schema.get("properties", {}).values():
                yield from types(value)
            yield from types(schema.get("items"))

    for category in ("simple_java", "simple_javascript", "live_multiple", "multiple"):
        for ref in official.index(category)[::5]:
            entry = official.load(ref)
            tools = compile_tools(entry.function)
            assert len({tool["function"]["name"] for tool in tools}) == len(entry.function)
            assert {word for tool in tools for word in types(tool["function"]["parameters"])} <= words


def test_keys_stand_in_the_order_of_the_document():
    """Chat templates print the tools as JSON: the order is part of the prompt."""
    doc = {
        "name": "f",
        "description": "d",
        "parameters": {
            "type": "dict",
            "required": ["a"],
            "properties": {
                "a": {"items": {"description": "i", "type": "float"}, "description": "x", "type": "array"},
                "b": {"type": "dict", "required": [], "properties": {"w": {"description": "k", "type": "float"}}},
            },
        },
    }
    (tool,) = compile_tools([doc])
    schema = tool["function"]["parameters"]
    assert list(schema) == ["type", "required", "properties"]
    assert list(schema["properties"]["a"]) == ["items", "description", "type"]
    assert list(schema["properties"]["b"]) == ["type", "required", "properties"]
    assert list(schema["properties"]["b"]["properties"]["w"]) == ["description", "type", "format"]


PROPERTIES = [
    *({"type": word} for word in ("integer", "float", "String", "boolean", "dict", "tuple", "Boolean", 3)),
    {"type": "string", "enum": ["x", "y"]}, {"type": "integer", "enum": [1, "x"]}, {"type": "string", "enum": "xyz"},
    {"type": "integer", "minimum": 2}, {"type": "string", "pattern": "^y"}, {"type": "array", "maxItems": 0},
    {"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "string", "enum": ["y"]}},
    {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, {"type": "array", "items": 1},
    {"type": "dict", "properties": {"in": {"type": "integer"}}, "required": ["in"]},
    {"type": "dict", "minProperties": 2}, {"type": "dict", "properties": {}, "additionalProperties": False}, {}, 7,
]  # fmt: skip
VALUES = [0, 1, 1.0, 2.5, True, None, "", "x", "y", [], [1], ["x"], [1, "x"], [[1]], {}, {"in": 1}, {"in": "x"}]


def test_what_surely_fits_is_valid_as_it_is_sent() -> None:
    sure = 0
    for schema, value, required in itertools.product(PROPERTIES, VALUES, (["a"], ["a", "b"], [], "a", [["a"]])):
        parameters = {"type": "dict", "properties": {"a": schema}, "required": required}
        sent = compile_tools([{"name": "f", "parameters": parameters}])[0]["function"]["parameters"]
        for arguments in ({"a": value}, {"a": value, "b": 1}, {}):
            if surely_fits(parameters, arguments):
                sure += 1
                assert is_valid(sent, arguments), (schema, arguments)
    assert sure > 100
    assert surely_fits(DOC["parameters"], {"count": 2, "weight": 1.5, "who": "me", "bare": ["x"]})


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


@pytest.mark.parametrize("itself", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}] * 9}, {"anyOf": [{"$ref": "#"}]}])
def test_a_schema_that_contains_itself_ends(itself: dict[str, Any]) -> None:
    root = {"required": ["a"], "properties": {"a": itself}}
    assert str(arguments_for(root, lambda name, told: "x")).count("a") < 20
    for schema in (itself, {**root, **itself}):
        assert arguments_for(schema, lambda name, told: "x").keys() <= {"a"}
        assert translate(schema)["type"] in ("any", "dict")
