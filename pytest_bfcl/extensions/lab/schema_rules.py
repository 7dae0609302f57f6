"""Answers that the function's own schema forbids, and schemas that contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.lab.rules import Defect
from pytest_bfcl.json_types import Fields, Parsed

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "float": (int, float), "number": (int, float), "boolean": (bool,),
    "array": (list, tuple), "tuple": (list, tuple), "dict": (dict,), "object": (dict,),
}  # fmt: skip
DEEPEST = 12
"""Levels of a schema that are read."""


def schema_defects(entry: Entry) -> Iterator[Defect]:
    """Defects of an AST entry's schemas and of its answers under them; values of other languages are texts."""
    if entry.row.checker != "ast" or entry.language != "python":
        return
    documents: dict[str, Fields] = {}
    for number, function in enumerate(entry.function):
        properties = _properties(function.get("parameters"))
        documents.setdefault(str(function.get("name")), function)
        for name, schema in properties.items():
            place = f"function[{number}].parameters.properties.{name}"
            for rule, message in _own_contradictions(schema, 0):
                yield Defect(rule, entry.id, f"{function.get('name')}.{name}: {message}", place)
    for number, call in enumerate(entry.possible_answer or ()):
        if not isinstance(call, dict):
            continue
        for name, answer in call.items():
            properties = _properties(documents.get(name, {}).get("parameters"))
            for parameter, values in (answer if isinstance(answer, dict) else {}).items():
                if isinstance(values, list) and parameter in properties:
                    place = f"possible_answer[{number}].{name}.{parameter}"
                    yield from _value_defects(entry, properties[parameter], values, place)


def _value_defects(entry: Entry, schema: Fields, values: list[Any], place: str) -> Iterator[Defect]:
    """A defect if no acceptable value fits; one fitting value is enough, and so is an optional parameter."""
    if not values or "" in values:
        return
    given = [value for value in values if not _is_variable(value, schema, entry)]
    if len(given) < len(values):
        return
    kind = str(schema.get("type"))
    found = [list(misfits(schema, value, 0)) for value in given]
    if not all(found):
        return
    rule, message = found[0][0]
    allowed = schema.get("enum")
    proof = (f"acceptable: {_short(values)}", f"type: {kind}", *([f"enum: {_short(allowed)}"] if allowed else []))
    yield Defect(rule, entry.id, message, place, proof)


def _is_variable(value: object, schema: Fields, entry: Entry) -> bool:
    """Whether an acceptable value is empty, or the name of a variable in the request."""
    if value is None and "enum" not in schema and schema.get("default", 0) is None:
        return True
    said = (str(message.get("content")) for turn in entry.question for message in turn)
    return isinstance(value, str) and value.isidentifier() and any(value in text for text in said)


def misfits(schema: Fields, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Rule and message for everything in an acceptable value that its schema forbids.

    Objects are ``{key: [acceptable values]}`` in an answer, lists are lists of values (data spec §7).
    """
    if depth > DEEPEST:
        return
    kinds = _KINDS.get(str(schema.get("type")))
    allowed = schema.get("enum")
    nested = depth > 0
    if isinstance(allowed, list) and not _is_allowed(value, allowed):
        yield ("nested_enum" if nested else "outside_enum", f"{_short(value)} is not in the enum {_short(allowed)}")
    elif kinds and not _is_a(value, kinds):
        rule = "nested_type" if nested else "wrong_type"
        yield (rule, f"{_short(value)} is no {schema.get('type')}")
    elif isinstance(value, dict):
        yield from _object_misfits(schema, value, depth)
    elif isinstance(value, list | tuple) and isinstance(schema.get("items"), dict):
        for item in value:
            for rule, message in misfits(schema["items"], item, depth + 1):
                yield (rule if isinstance(item, dict) else "wrong_item", message)


def _object_misfits(schema: Fields, value: Parsed, depth: int) -> Iterator[tuple[str, str]]:
    properties = _properties(schema)
    required = schema.get("required")
    for key in required if isinstance(required, list) else ():
        if key not in value:
            yield ("nested_required", f"the required key {key!r} is missing")
    if not properties:
        return
    for key, values in value.items():
        if key not in properties:
            yield ("nested_unknown", f"the schema has no key {key!r}, only {_short(list(properties))}")
            continue
        ways = values if isinstance(values, list) else [values]
        given = [way for way in ways if way != ""]
        found = [list(misfits(properties[key], way, depth + 1)) for way in given]
        if given and all(found):
            yield found[0][0]


def _own_contradictions(schema: Fields, depth: int) -> Iterator[tuple[str, str]]:
    """A schema's default checked by its enum and type, its enum by its type, also nested ones."""
    kinds, allowed = _KINDS.get(str(schema.get("type"))), schema.get("enum")
    default = schema.get("default")
    of_items = isinstance(allowed, list) and schema.get("type") in ("array", "tuple")
    if default is not None and isinstance(allowed, list) and not _is_allowed(default, allowed):
        yield ("default_outside_enum", f"the default {_short(default)} is not in the enum {_short(allowed)}")
    elif default is not None and kinds and not _is_a(default, kinds):
        yield ("default_wrong_type", f"the default {_short(default)} is no {schema.get('type')}")
    if isinstance(allowed, list) and kinds and not of_items:
        odd = [value for value in allowed if value is not None and not _is_a(value, kinds)]
        if odd:
            yield ("enum_wrong_type", f"{_short(odd[0])} in the enum is no {schema.get('type')}")
    if depth < DEEPEST:
        items = schema.get("items")
        inner = [*_properties(schema).values(), *([items] if isinstance(items, dict) else [])]
        for each in inner:
            yield from _own_contradictions(each, depth + 1)


def _is_allowed(value: object, allowed: list[Any]) -> bool:
    return all(each in allowed for each in value) if isinstance(value, list | tuple) else value in allowed


def _is_a(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _properties(schema: object) -> dict[str, Parsed]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    found = properties.items() if isinstance(properties, Mapping) else ()
    return {str(name): each for name, each in found if isinstance(each, dict)}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 160 else text[:157] + "..."
