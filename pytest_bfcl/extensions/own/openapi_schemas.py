"""Schemas of OpenAPI documents as JSON Schema that is complete: what they refer to comes with them. And examples."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_bfcl.json_types import Fields, Parsed

MAX_DEPTH = 8


def given_example(holder: Fields, root: Fields, depth: int = 0) -> Any:
    """The example of a parameter, a media type or a schema: its own, or one made of its parts'; ``None`` without any.

    References inside the document are followed within bounds; an object has what its required fields have.
    """
    holder = resolved(holder, root)
    if depth > MAX_DEPTH:
        return None
    if holder.get("example") is not None:
        return holder["example"]
    examples = holder.get("examples")
    listed = list(examples.values()) if isinstance(examples, Mapping) else examples
    if isinstance(listed, list) and listed:
        first = resolved(listed[0], root) if isinstance(listed[0], Mapping) else listed[0]
        told = first.get("value") if isinstance(examples, Mapping) and isinstance(first, Mapping) else first
        if told is not None:
            return told
    if isinstance(holder.get("schema"), Mapping):
        return given_example(holder["schema"], root, depth + 1)
    if isinstance(holder.get("items"), Mapping):
        item = given_example(holder["items"], root, depth + 1)
        return None if item is None else [item]
    properties = holder.get("properties")
    if isinstance(properties, Mapping):
        found = {
            str(name): value
            for name, each in list(properties.items())[:100]
            if isinstance(each, Mapping) and (value := given_example(each, root, depth + 1)) is not None
        }
        return found or None
    return None


def resolved(value: object, root: Fields) -> Fields:
    """A parameter, body or schema, its references inside the document followed within bounds."""
    for _ in range(MAX_DEPTH):
        reference = value.get("$ref") if isinstance(value, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        value = _target(reference, root)
    return value if isinstance(value, Mapping) else {}


def _target(reference: str, root: Fields) -> Any:
    """What lies at ``#/…`` in the document."""
    found: Any = root
    for part in reference[2:].split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


MOST_PARTS = 20_000
"""Parts of schemas that one tool takes along; what lies behind is left open."""
MOST_DEPTH = 32
_LEFT_OUT = frozenset(
    {"example", "xml", "discriminator", "externalDocs", "nullable", "readOnly", "writeOnly", "deprecated"}
)
"""Words of OpenAPI that JSON Schema has not, or that are of no use in a tool; ``x-…`` too."""
_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


class Standalone:
    """The schemas of one tool: `of` gives each, `definitions` what they refer to."""

    def __init__(self, root: Fields) -> None:
        self.definitions: Parsed = {}
        self._root = root
        self._names: dict[str, str] = {}
        self._parts = 0

    def of(self, schema: object, depth: int = 0) -> Any:
        """A schema with references into `definitions`, ``nullable`` as a type, bounds as numbers."""
        self._parts += 1
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping) or depth > MOST_DEPTH or self._parts > MOST_PARTS:
            return {}
        found: Parsed = {}
        for key, value in schema.items():
            if key in _LEFT_OUT or str(key).startswith("x-"):
                continue
            if key == "$ref":
                found |= self._reference(value, depth)
            elif key in _MAPS and isinstance(value, Mapping):
                found[key] = {str(name): self.of(each, depth + 1) for name, each in value.items()}
            elif key in _LISTS and isinstance(value, list):
                found[key] = [self.of(each, depth + 1) for each in value]
            elif key in _SCHEMAS:
                listed = isinstance(value, list)
                found[key] = [self.of(each, depth + 1) for each in value] if listed else self.of(value, depth + 1)
            else:
                found[key] = value
        return _mended(found, nullable=schema.get("nullable") is True)

    def _reference(self, reference: object, depth: int) -> Parsed:
        """A reference inside the document, to a copy among the definitions; any other is left open."""
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return {}
        if reference not in self._names:
            target = _target(reference, self._root)
            if not isinstance(target, Mapping):
                return {}
            name = re.sub(r"\W+", "_", reference.rpartition("/")[2]) or "part"
            while name in self.definitions:
                name += "_"
            self._names[reference] = name
            self.definitions[name] = {}
            self.definitions[name] = self.of(target, depth + 1)
        return {"$ref": f"#/$defs/{self._names[reference]}"}


def _mended(schema: Parsed, *, nullable: bool) -> Parsed:
    """Without what OpenAPI 2 and 3.0 write otherwise than JSON Schema."""
    for bound, strict in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(strict), bool) and schema.pop(strict) and bound in schema:
            schema[strict] = schema.pop(bound)
    if schema.get("type") == "file":
        schema["type"] = "string"
    if isinstance(schema.get("required"), bool):  # of a parameter, not of an object's fields
        del schema["required"]
    if not nullable:
        return schema
    if isinstance(kind := schema.get("type"), str):
        schema["type"] = [kind, "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        return schema
    described = {"description": schema.pop("description")} if "description" in schema else {}
    return {**described, "anyOf": [schema, {"type": "null"}]} if schema else schema
