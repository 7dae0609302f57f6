"""Many tools, and tools whose names and schemas are unusual but allowed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pytest_bfcl.extensions.wire.differences import Wanted, compare
from pytest_bfcl.extensions.wire.probe import Probe
from pytest_bfcl.extensions.wire.requests import Tool
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import NOTE, TEXT, Json, dictate, schema

Judge = Callable[[Probe], Awaitable[None]]


def one_of(count: int) -> Judge:
    """A call of the last tool among ``count``, beside the same with that tool alone."""

    async def judge(probe: Probe) -> None:
        tools = [Tool(f"action_{n:03}", schema({"text": TEXT}), f"Carries out action {n}.") for n in range(count)]
        wanted = Wanted(tools[-1].name, {"text": probe.word()})
        many = dictate(wanted, tools=tools)
        requests = [dictate(wanted, tools=tools[-1:]), many, many.streamed()]
        await probe.weighed(requests, lambda reply: compare([wanted], reply))

    return judge


def tool(
    parameters: Json | None, arguments: Json, *, name: str = "set_up", key: str | None = "label", **more: Any
) -> Judge:
    """A dictated call of a tool with this schema, beside the same under a schema that asks for nothing; ``key`` gets a
    fresh word.
    """

    async def judge(probe: Probe) -> None:
        wanted = Wanted(name, {**arguments, **({key: probe.word()} if key else {})})
        said = more.get("description", "Sets something up.")
        plain = Tool(name, schema({key: {} for key in wanted.arguments}), "Sets something up.")
        request = dictate(wanted, tools=[NOTE, Tool(name, parameters, said)])
        requests = [dictate(wanted, tools=[NOTE, plain]), request, request.streamed()]
        await probe.weighed(requests, lambda reply: compare([wanted], reply))

    return judge


def tool_named(name: str) -> Judge:
    """A tool with this name."""
    return tool(schema({"label": TEXT}), {}, name=name)


def _deep(levels: int) -> tuple[Json, Json]:
    inner: Json = schema({"value": {"type": "integer"}})
    value: Json = {"value": 7}
    for level in range(levels):
        inner, value = schema({f"level_{level}": inner}), {f"level_{level}": value}
    return inner, value


DEEP_SCHEMA, DEEP = _deep(10)
RECURSIVE: Json = schema(
    {"label": TEXT, "tree": {"$ref": "#/$defs/node"}},
    **{"$defs": {"node": schema({"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}})}},
)
TREE: Json = {
    "tree": {"name": "root", "children": [{"name": "leaf", "children": []}, {"name": "twig", "children": []}]}
}
ANY_OF: Json = schema(
    {
        "label": TEXT,
        "to": {"anyOf": [schema({"mail": TEXT}), schema({"number": {"type": "integer"}})]},
        "when": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
    }
)
ENUM: Json = schema(
    {"label": TEXT, "unit": {"type": "string", "enum": ["°C", "°F", "K / kelvin"]}, "level": {"enum": [1, 2, 3]}}
)
ENUM_NUMBERS: Json = schema(
    {
        "label": TEXT,
        "level": {"type": "integer", "enum": [1, 2, 3]},
        "ratio": {"type": "number", "enum": [0.5, 1.5]},
        "mixed": {"enum": ["a", 7, None, True]},
    }
)
MANY: Json = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4}
CODE: Json = {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"}
FURTHER: Json = schema(
    {"label": TEXT, "counts": {"type": "object", "additionalProperties": {"type": "integer"}}},
    additionalProperties={"type": "string"},
)
TYPE_LISTS: Json = schema(
    {
        "label": TEXT,
        "amount": {"type": ["string", "integer"]},
        "unit": {"type": ["integer", "string"]},
        "more": {"type": ["object", "null"]},
    }
)
LIMITS: Json = schema(
    {
        "label": TEXT,
        "hour": {"type": "integer", "minimum": 0, "maximum": 23},
        "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "step": {"type": "number", "multipleOf": 0.25},
        "name": {"type": "string", "minLength": 2, "maxLength": 8},
        "day": {"type": "string", "format": "date"},
        "kind": {"const": "fixed"},
    }
)
LIMITED: Json = {"hour": 23, "share": 0.125, "step": 1.75, "name": "ab", "day": "2026-02-28", "kind": "fixed"}
SHARED: Json = schema(
    {"label": TEXT, "home": {"$ref": "#/$defs/place"}, "work": {"$ref": "#/$defs/place"}},
    **{"$defs": {"place": schema({"city": TEXT, "floor": {"type": "integer"}})}},
)
PLACES: Json = {"home": {"city": "Oslo", "floor": 3}, "work": {"city": "Lima", "floor": 0}}
NOTES: Json = schema(
    {
        "label": TEXT,
        "size": {"type": "integer", "title": "Size", "default": 3, "examples": [3, 4], "$comment": "in metres"},
        "name": {"type": "string", "deprecated": True, "readOnly": False},
    },
    **{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "SetUp", "description": "What is set up."},
)
COMBINED: Json = schema(
    {
        "label": TEXT,
        "to": {"oneOf": [schema({"mail": TEXT}), schema({"number": {"type": "integer"}})]},
        "size": {"allOf": [{"type": "integer"}, {"minimum": 1}]},
    }
)
ODD_KEYS: Json = {"@type": "a", "max-size": 3, "größe": 4, "with blank": True, "$id": "b", "class": "c"}
ODD_SCHEMA: Json = schema({"label": TEXT, **{key: {} for key in ODD_KEYS}})
LONG = "Sets something up. " + "The value is kept until it is changed; nothing else happens. " * 130


JUDGES: Judges = {
    "tools_1": one_of(1),
    "tools_64": one_of(64),
    "tools_200": one_of(200),
    "schema_deep": tool(schema({"label": TEXT, "tree": DEEP_SCHEMA}), {"tree": DEEP}),
    "schema_recursive": tool(RECURSIVE, TREE),
    "schema_any_of": tool(ANY_OF, {"to": {"number": 5}, "when": "12"}),
    "schema_ref": tool(SHARED, PLACES),
    "schema_enum_numbers": tool(ENUM_NUMBERS, {"level": 3, "ratio": 1.5, "mixed": 7}),
    "schema_type_lists": tool(TYPE_LISTS, {"amount": 7, "unit": "7", "more": None}),
    "schema_items": tool(schema({"label": TEXT, "sizes": MANY}), {"sizes": [3, 1, 2]}),
    "schema_pattern": tool(schema({"label": TEXT, "code": CODE}), {"code": "NO-007"}),
    "schema_further": tool(FURTHER, {"counts": {"red": 1, "light blue": 2}, "own": "kept"}),
    "schema_limits": tool(LIMITS, LIMITED),
    "schema_notes": tool(NOTES, {"size": 4, "name": "a"}),
    "schema_combined": tool(COMBINED, {"to": {"number": 5}, "size": 2}),
    "schema_enum": tool(ENUM, {"unit": "K / kelvin", "level": 2}),
    "schema_long_description": tool(schema({"label": TEXT}), {}, description=LONG),
    "schema_odd_keys": tool(ODD_SCHEMA, ODD_KEYS),
    "schema_none": tool(None, {}, name="get_status", key=None),
    "name_dots": tool_named("files.v2.save"),
    "name_dashes": tool_named("save-the-file"),
    "name_case": tool_named("saveHTTPFile"),
    "name_64": tool_named("save_" + "a_very_long_name_" * 3 + "12345678"),
}
