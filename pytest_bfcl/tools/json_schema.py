"""Tools in JSON Schema as their author wrote them, and the errors of arguments under it.

The benchmark's own dialect (``"type": "dict"``) is for the benchmark's data. A document with ``"dialect":
"json-schema"`` has ``parameters`` that are sent unchanged and judged by the package ``jsonschema``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

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
