"""The JSON Schema of a line of ``results.jsonl``, made of its type: for readers that others write."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.runs.result_line import OUTCOMES, ResultLine

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Mapping[object, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", dict: "object",
}  # fmt: skip


def result_line_schema() -> Parsed:
    """What a reader may rely on; fields to come are allowed."""
    hints = get_type_hints(ResultLine, include_extras=True)
    properties = {name: schema_of(hint) for name, hint in hints.items()} | {"outcome": {"enum": list(OUTCOMES)}}
    properties["mode"] = {"enum": ["fc", "prompt"]}
    properties["repeat"] = {"type": "integer", "minimum": 1}
    return {
        "$schema": DIALECT,
        "title": "A line of results.jsonl",
        "type": "object",
        "properties": properties,
        "required": sorted(ResultLine.__required_keys__),
    }


def schema_of(hint: Any) -> Parsed:
    """The schema of one annotation: plain types, unions, sequences, mappings, typed dictionaries, literals."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if origin in (NotRequired, Annotated):
        return schema_of(arguments[0])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each) for each in arguments]}
    if origin in (Sequence, list):
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is tuple:
        return {"type": "array", "prefixItems": [schema_of(each) for each in arguments], "minItems": len(arguments)}
    if origin in (Mapping, dict):
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    if is_typeddict(hint):
        members = get_type_hints(hint, include_extras=True)
        return {"type": "object", "properties": {name: schema_of(each) for name, each in members.items()}}
    return {"type": _PLAIN[hint]}
