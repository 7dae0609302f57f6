"""Types for untyped argument texts by their function's document, as servers' parsers assign them.

A format of tags writes every value as plain text. The documented types are tried in one order (null, whole number,
number, truth value, object, list, text); a value that fits none stays text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_bfcl.formats.members import literal
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError, check_integer
from pytest_bfcl.transcript import wire_name

Documents = Sequence[Fields]
"""The offered functions: ``{name, parameters}``, or OpenAI's ``{type, function}`` around that."""

_NAMES = {
    "null": "null none nonetype",
    "integer": "integer int int32 int64 uint uint32 uint64 long short byte unsigned bigint biginteger",
    "number": "number float float32 float64 double decimal",
    "boolean": "boolean bool",
    "object": "object dict map hashmap hashtable",
    "array": "array arr list arraylist tuple sequence set queue stack",
    "string": "string str text char varchar enum",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_MAX_DEPTH = 24
"""Deepest level of schemas that is read; schemas that contain themselves have no end."""


def typed_arguments(
    name: str, arguments: Mapping[str, Any], documents: Documents, *, json: bool = False
) -> dict[str, Any]:
    """Arguments whose values are texts or JSON, typed by the document of the function.

    A single unknown parameter around an object of known ones is removed. ``json``: values without a documented type are
    JSON if possible.
    """
    root = _parameters(name, documents)
    properties = root.get("properties")
    if not isinstance(properties, Mapping):
        return {key: _json_or(value) if json else value for key, value in arguments.items()}
    if len(arguments) == 1:
        ((wrapper, inside),) = arguments.items()
        if wrapper in ("arguments", "input", "properties") and wrapper not in properties:
            value = _json_or(inside)
            if isinstance(value, dict) and set(value) <= set(properties):
                arguments = value
    return {
        key: _json_or(value) if json and key not in properties else _typed(value, properties.get(key), root, 0)
        for key, value in arguments.items()
    }


def has_function(name: str, documents: Documents) -> bool:
    """Whether a function is offered under this name, documented or as sent."""
    return any(name in (each, wire_name(each)) for each in _names(documents))


def _names(documents: Documents) -> Iterator[str]:
    for document in documents:
        yield str(_function(document).get("name", ""))


def _function(document: Fields) -> Fields:
    inner = document.get("function")
    return inner if isinstance(inner, Mapping) else document


def _parameters(name: str, documents: Documents) -> Fields:
    for document, documented in zip(documents, _names(documents), strict=True):
        if name in (documented, wire_name(documented)):
            found = _function(document).get("parameters")
            return found if isinstance(found, Mapping) else {}
    return {}


def _typed(value: Any, schema: object, root: Fields, depth: int) -> Any:
    schema = _resolved(schema, root)
    if schema is None or depth > _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return value
        return {key: _typed(item, properties.get(key), root, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item, schema.get("items"), root, depth + 1) for item in value]
    kinds = _kinds(schema, root)
    kinds = kinds if kinds - {"null"} else kinds | {"string"}
    if isinstance(value, str):
        return text_as(value, kinds)
    return _scalar_as(value, kinds)


def _scalar_as(value: Any, kinds: set[str]) -> Any:
    """A scalar from JSON: unchanged if its type is documented, else read again."""
    if isinstance(value, bool):
        own, text = "boolean", "true" if value else "false"
    elif value is None:
        own, text = "null", "null"
    else:
        own, text = "number" if isinstance(value, float) or "integer" not in kinds else "integer", repr(value)
    return value if own in kinds else text_as(text, kinds)


def _resolved(schema: object, root: Fields) -> Fields | None:
    """The schema, or the target of its ``$ref`` in the same document; ``None`` without one and for circles."""
    for _ in range(_MAX_DEPTH):
        if not isinstance(schema, Mapping):
            return None
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        place: object = root
        for key in reference.removeprefix("#").strip("/").split("/"):
            place = place.get(key) if isinstance(place, Mapping) else None
        schema = place
    return None


def _kinds(schema: object, root: Fields) -> set[str]:
    """The types that a schema allows, null if it is the default; unknown names stay unchanged."""
    kinds: set[str] = set()
    waiting, seen = [schema], set[int]()
    while waiting:
        found = _resolved(waiting.pop(), root)
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        named, values = found.get("type"), found.get("enum")
        for kind in [named] if isinstance(named, str) else named if isinstance(named, list) else ():
            if isinstance(kind, str):
                kinds.add(_KINDS.get(kind.strip().lower(), kind))
        if named is None and isinstance(values, list):
            kinds.update(map(_kind_of, values))
        if found.get("nullable") is True or found.get("default", ...) is None:
            kinds.add("null")
        for key in ("anyOf", "oneOf", "allOf"):
            choices = found.get(key)
            waiting += choices if isinstance(choices, list) else ()
    return kinds


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (dict, "object"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "string")


def text_as(text: str, kinds: set[str]) -> Any:
    """A plain text as the first type that accepts it; for unknown types JSON or the text."""
    if not text.strip() and "string" not in kinds:
        return [] if "array" in kinds else {} if "object" in kinds else text
    for kind, read in _READERS.items():
        if kind in kinds:
            try:
                return read(text)
            except (ValueError, ArithmeticError):  # DecodeError is one
                continue
    return text if "string" in kinds else _json_or(text)


def _json_or(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except DecodeError:
        return value


def _null(text: str) -> None:
    if text.lower() != "null":
        raise ValueError


def _integer(text: str) -> int:
    return check_integer(int(text))


def _number(text: str) -> int | float:
    try:
        return _integer(text)
    except ValueError:
        value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return int(value) if value == int(value) else value


_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def _truth(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUTHS:
        raise ValueError
    return _TRUTHS[word]


def _structure(text: str) -> Any:
    try:
        return parse_json(text)
    except DecodeError:
        value = literal(text.strip())
    if not isinstance(value, (dict, list, tuple)):
        raise ValueError
    return list(value) if isinstance(value, tuple) else value


_READERS: dict[str, Callable[[str], Any]] = {
    "null": _null,
    "integer": _integer,
    "number": _number,
    "boolean": _truth,
    "object": _structure,
    "array": _structure,
}
