"""The values that the author of an OpenAPI document gives as examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.json_types import Fields

MAX_DEPTH = 8


def given_example(holder: Fields, root: Fields, depth: int = 0) -> Any:
    """The example of a parameter, a media type or a schema: its own, or one made of its parts'; ``None`` without any.

    References inside the document are followed within bounds; an object has what its required fields have.
    """
    holder = _resolved(holder, root)
    if depth > MAX_DEPTH:
        return None
    if holder.get("example") is not None:
        return holder["example"]
    examples = holder.get("examples")
    listed = list(examples.values()) if isinstance(examples, Mapping) else examples
    if isinstance(listed, list) and listed:
        first = _resolved(listed[0], root) if isinstance(listed[0], Mapping) else listed[0]
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


def _resolved(value: Fields, root: Fields) -> Fields:
    for _ in range(MAX_DEPTH):
        reference = value.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        found: Any = root
        for part in reference[2:].split("/"):
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            return {}
        value = found
    return value
