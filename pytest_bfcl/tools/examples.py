"""An example value for a schema, in the benchmark's words or in JSON Schema, for drafts and adversaries."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeGuard

from pytest_bfcl.json_types import Fields
from pytest_bfcl.tools.patterns import pattern_of

MOST_DEPTH = 8
LONGEST_TEXT = 1_000
Say = Callable[[str, Fields], Any]
"""Name and schema of a text → the text."""


def arguments_for(schema: Fields, say: Say) -> dict[str, Any]:
    """Arguments with an example for each required parameter."""
    required = schema.get("required")
    properties = schema.get("properties") or {}
    names = required if isinstance(required, list) else ()
    return {str(name): example_value(str(name), properties.get(name), say, root=schema) for name in names}


def example_value(name: str, schema: Any, say: Say, *, root: Fields | None = None, depth: int = 0) -> Any:
    """A value that fits a schema's types, bounds, patterns, alternatives and references.

    ``say`` gives every text that nothing else decides; ``root`` resolves references (``#/…``).
    """
    if not isinstance(schema, dict) or depth > MOST_DEPTH:
        return say(name, {})
    root = schema if root is None else root
    schema = _resolved(schema, root)
    if (given := _given(schema)) is not None:
        return given
    inner: dict[str, Any] = {"root": root, "depth": depth + 1}
    match _kind(schema):
        case "integer" | "long" | "number" | "float" | "double":
            return _number(schema)
        case "boolean":
            return True
        case "null":
            return None
        case "array" | "tuple":
            return _items(name, schema, say, inner)
        case "object" | "dict":
            properties = schema.get("properties") or {}
            wanted = schema.get("required")
            names = wanted if isinstance(wanted, list) else list(properties) if _kind(schema) == "dict" else []
            return {str(key): example_value(str(key), properties.get(key), say, **inner) for key in names}
        case _:
            return _text(name, schema, say)


def _text(name: str, schema: Fields, say: Say) -> Any:
    """The proposed text, or one that the schema accepts."""
    said = say(name, schema)
    pattern, least, most = (schema.get(key) for key in ("pattern", "minLength", "maxLength"))
    if not isinstance(said, str):
        return said
    least = min(least, LONGEST_TEXT) if isinstance(least, int) else 0
    with contextlib.suppress(ValueError):  # a pattern that is not read
        if isinstance(pattern, str) and not pattern_of(pattern).is_in(said):
            found = pattern_of(pattern).example(max(least, 1)) or pattern_of(pattern).example()
            return found.rjust(least, "a") if found else said
    while len(said) < least:
        said += f" {name}"
    return said[:most] if isinstance(most, int) and most > 0 else said


def _resolved(schema: Fields, root: Fields) -> dict[str, Any]:
    """Resolves references, joins ``allOf``, takes the first alternative that is not ``null``."""
    whole = dict(schema)
    for _ in range(MOST_DEPTH):
        if isinstance(reference := whole.pop("$ref", None), str):
            whole = {**_target(reference, root), **whole}
        elif isinstance(parts := whole.pop("allOf", None), list):
            for part in parts:
                whole = _joined(whole, _resolved(part, root) if isinstance(part, dict) else {})
        elif isinstance(chosen := _first_alternative(whole), dict):
            whole = _joined({key: whole[key] for key in whole if key not in ("anyOf", "oneOf")}, chosen)
        else:
            break
    return whole


def _first_alternative(schema: Fields) -> Any:
    for key in ("anyOf", "oneOf"):
        if isinstance(listed := schema.get(key), list):
            return next((each for each in listed if isinstance(each, dict) and each.get("type") != "null"), {})
    return None


def _joined(one: dict[str, Any], other: Fields) -> dict[str, Any]:
    joined = {**other, **one}
    if isinstance(one.get("properties"), dict) and isinstance(other.get("properties"), dict):
        joined["properties"] = {**other["properties"], **one["properties"]}
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        joined["required"] = list(dict.fromkeys([*other["required"], *one["required"]]))
    return joined


def _target(reference: str, root: Fields) -> dict[str, Any]:
    found: Any = root
    for part in reference.lstrip("#").strip("/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if key:
            found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _given(schema: Fields) -> Any:
    """The schema's own value: a constant, a default, one of its values or examples."""
    for key in ("const", "default"):
        if schema.get(key) not in (None, ""):  # an empty text stands for a parameter that is left out
            return schema[key]
    for key in ("enum", "examples"):
        listed = schema.get(key)
        known = [each for each in listed if each not in (None, "")] if isinstance(listed, list) else []
        if known:
            return known[0]
    return None


def _kind(schema: Fields) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if kind is None and "properties" in schema:
        return "object"
    if kind is None and ("items" in schema or "prefixItems" in schema):
        return "array"
    return str(kind)


def _number(schema: Fields) -> int | float:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below, step = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum"), schema.get("multipleOf")
    value: int | float = 1
    if _is_number(low) and value < low:
        value = low
    if _is_number(above) and value <= above:
        value = above + 1
    elif above is True and _is_number(low):  # draft 4
        value = max(value, low + 1)
    if _is_number(high) and value > high:
        value = high
    if _is_number(below) and value >= below:
        value = below - 1
    if _is_number(step) and step > 0:
        value = -(-value // step) * step
    return value if _kind(schema) in ("integer", "long") else float(value) if _kind(schema) == "float" else value


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _items(name: str, schema: Fields, say: Say, inner: dict[str, Any]) -> list[Any]:
    """For a list one item, or its minimum; for a tuple one for each position, in any draft."""
    items, places = schema.get("items"), schema.get("prefixItems")
    if isinstance(items, list):  # up to draft 2019-09
        places, items = items, schema.get("additionalItems")
    least = schema.get("minItems")
    count = least if isinstance(least, int) and 1 <= least <= 20 else 1
    if schema.get("maxItems") == 0:
        return []
    found = [example_value(name, each, say, **inner) for each in places] if isinstance(places, list) else []
    while len(found) < count and not (found and items is False):
        found.append(example_value(f"{name}{len(found) or ''}", items if isinstance(items, dict) else {}, say, **inner))
    return found
