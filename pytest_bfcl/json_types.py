"""Type names for JSON values in signatures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["Fields", "JsonObject", "JsonValue", "Parsed", "first_problem", "leaves"]

JsonValue: TypeAlias = bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
"""A JSON value; check its type before you read it."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object that we write."""

Fields: TypeAlias = Mapping[str, Any]
"""A JSON object that others wrote; nothing is known of its values."""

Parsed: TypeAlias = dict[str, Any]
"""The same, fresh from a parser: we may change it."""


def leaves(value: object) -> Iterator[object]:
    """The values inside nested lists."""
    if isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif value is not None:
        yield value


def first_problem(error: ValidationError) -> str:
    """Pydantic's first complaint, as ``field.field: sentence``.

    Where several shapes are allowed, the one that fits best counts.
    """
    every = error.errors(include_url=False, include_input=False)
    beside = every[0]["loc"][:-1]
    about = (each for each in every if each["loc"][: len(beside)] == beside)
    found = max(about, key=lambda each: (len(each["loc"]), not each["type"].endswith("_type")))
    place = [str(part) for part in found["loc"] if not _is_type(str(part))]
    said = found["msg"].removeprefix("Value error, ")
    if found["type"] == "extra_forbidden":
        said = f"unknown field {place.pop()!r}"
    return f"{'.'.join(place)}: {said}" if place else said


def _is_type(part: str) -> bool:
    """Whether a part of pydantic's location names a tried shape, not a field."""
    return part in ("str", "float") or part.startswith("constrained-") or "[" in part or part[:1].isupper()
