"""Tools in JSON Schema as their author wrote them, the errors of arguments under it, an example value for a schema.

The benchmark's own dialect (``"type": "dict"``) is for the benchmark's data. A document with ``"dialect":
"json-schema"`` has ``parameters`` that are sent unchanged and judged by the package ``jsonschema``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeGuard

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.tools.patterns import pattern_of

FunctionDoc = Parsed
"""A function document: ``name``, ``description``, ``parameters`` (data spec §4.2)."""

Dialect = Literal["bfcl", "json-schema"]
DIALECT = "json-schema"
MOST_SHOWN = 300
MOST_PARTS = 20_000
"""Keywords of a schema that show its draft."""


def is_native(document: Fields) -> bool:
    """Whether a document has this dialect."""
    return document.get("dialect") == DIALECT and isinstance(document.get("parameters"), dict)


def schema_problem(schema: Fields) -> str | None:
    """Why a schema of arguments is no JSON Schema of an object; else ``None``."""
    if schema.get("type", "object") != "object":
        return f"it is the schema of {str(schema.get('type'))[:40]!r}, not of an object"
    return value_schema_problem(schema)


def value_schema_problem(schema: Fields) -> str | None:
    """Why a schema is no JSON Schema; else ``None``."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(dict(schema), default=_draft(schema)).check_schema(schema)
    except SchemaError as error:
        return f"{'.'.join(map(str, error.absolute_path)) or 'schema'}: {error.message[:MOST_SHOWN]}"
    except RecursionError:
        return "it is nested too deeply"
    return None


def unresolved_reference(schema: Fields) -> str | None:
    """The first reference of a schema without a target inside it, as a sentence; nothing is fetched."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    resolver = Registry().with_resource("", DRAFT202012.create_resource(dict(schema))).resolver()
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable:
            return f"the reference {reference[:80]!r} leads nowhere in the schema"
    return None


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _references(each)
    if isinstance(value, dict) and isinstance(value.get("$ref"), str):
        yield value["$ref"]


def argument_problem(schema: Fields, arguments: Fields) -> tuple[str, str] | None:
    """Parameter and sentence of the first error in arguments, ``None`` if they are valid.

    A schema that cannot be applied (an unknown type, a missing, external or circular reference) accepts everything.
    """
    from jsonschema.exceptions import UnknownType, best_match
    from referencing.exceptions import Unresolvable

    try:
        error = best_match(_errors(schema, arguments))
    except (Unresolvable, UnknownType, RecursionError):
        return None
    if error is None:
        return None
    place = [str(part) for part in error.absolute_path]
    where = f"{'.'.join(place)}: " if place else ""
    return (place[0] if place else ""), f"{where}{error.message}"[:MOST_SHOWN]


def fits_schema(schema: Fields, value: Any, otherwise: bool = False) -> bool:
    """Whether any value is valid by a schema; ``otherwise`` for a schema that cannot be applied."""
    from jsonschema.exceptions import UnknownType
    from referencing.exceptions import Unresolvable

    try:
        return next(_errors(schema, value), None) is None
    except (Unresolvable, UnknownType, RecursionError):
        return otherwise


def is_valid(schema: Fields, arguments: Fields) -> bool:
    """Whether arguments are valid: like `argument_problem` without the message, and several times as fast."""
    return fits_schema(schema, arguments, otherwise=True)


def _errors(schema: Fields, arguments: Any) -> Iterator[Any]:
    from jsonschema.validators import validator_for
    from referencing import Registry

    kind = _bounded(validator_for(dict(schema), default=_draft(schema)))
    # its own registry: the package's default would fetch what a reference names.
    yield from kind(schema, registry=Registry()).iter_errors(arguments)


def _draft(schema: Fields) -> Any:
    """The draft of a schema that names none: the newest in which its keywords have a meaning.

    A list under ``items`` is a tuple up to 2019-09, where ``$recursiveRef`` ends, too; ``exclusiveMinimum: true`` is
    draft 4's.
    """
    from jsonschema import Draft4Validator, Draft201909Validator, Draft202012Validator

    found: Any = Draft202012Validator
    left: list[Any] = [schema]
    for _ in range(MOST_PARTS):
        if not left:
            break
        part = left.pop()
        if isinstance(part, dict):
            if isinstance(part.get("exclusiveMinimum"), bool) or isinstance(part.get("exclusiveMaximum"), bool):
                return Draft4Validator
            if isinstance(part.get("items"), list) or "$recursiveAnchor" in part or "$recursiveRef" in part:
                found = Draft201909Validator
            left += part.values()
        elif isinstance(part, list):
            left += part
    return found


@lru_cache(maxsize=8)
def _bounded(kind: Any) -> Any:
    """A draft's validator with linear-time patterns; a refused pattern accepts everything."""
    from jsonschema import ValidationError
    from jsonschema.validators import extend

    def pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not _matches(wanted, instance):
            yield ValidationError(f"{instance[:100]!r} does not match {wanted[:100]!r}")

    def by_pattern(validator: Any, wanted: Fields, instance: Any, schema: Any) -> Iterator[Any]:
        for text, each in wanted.items() if isinstance(instance, dict) else ():
            for name, value in instance.items():
                if _matches(text, name, False):
                    yield from validator.descend(value, each, path=name, schema_path=text)

    return extend(kind, {"pattern": pattern, "patternProperties": by_pattern})


def _matches(pattern: str, text: str, unread: bool = True) -> bool:
    try:
        return pattern_of(pattern).is_in(text)
    except ValueError:
        return unread


MOST_DEPTH = 8
MOST_STEPS = 256
"""Most references and alternatives of one schema that are resolved."""
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
    schema = resolved(schema, root)
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


def resolved(schema: Fields, root: Fields) -> Parsed:
    """A schema with references inside the document ``root`` resolved and ``allOf`` joined, of alternatives the first
    one that is not ``null``. References that lead elsewhere allow anything; what contains itself is left open.
    """
    steps = iter(range(MOST_STEPS))

    def of(part: object) -> Parsed:
        whole = dict(part) if isinstance(part, Mapping) else {}
        for _ in steps:
            if isinstance(reference := whole.pop("$ref", None), str):
                whole = {**target(reference, root), **whole}
            elif isinstance(parts := whole.pop("allOf", None), list):
                for each in parts:
                    whole = _joined(whole, of(each))
            elif isinstance(chosen := _first_alternative(whole), Mapping):
                whole = _joined({key: whole[key] for key in whole if key not in ("anyOf", "oneOf")}, chosen)
            else:
                break
        return whole

    return of(schema)


def _first_alternative(schema: Fields) -> Any:
    for key in ("anyOf", "oneOf"):
        if isinstance(listed := schema.get(key), list):
            return next((each for each in listed if isinstance(each, Mapping) and each.get("type") != "null"), {})
    return None


def _joined(one: Parsed, other: Fields) -> Parsed:
    """Two schemas combined: both must be met."""
    joined = {**other, **one}
    if isinstance(one.get("properties"), Mapping) and isinstance(other.get("properties"), Mapping):
        joined["properties"] = {**other["properties"], **one["properties"]}
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        joined["required"] = list(dict.fromkeys([*other["required"], *one["required"]]))
    return joined


def target(reference: str, root: Fields) -> Fields:
    """The object at ``#/…`` in a document; empty if the reference leads nowhere, or out of it."""
    found: Any = root if reference.startswith("#") else None
    for part in reference.lstrip("#").strip("/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if key:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


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
