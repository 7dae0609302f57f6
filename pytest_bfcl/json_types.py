"""Names for what JSON holds, so that a signature says what it takes and gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pydantic import ValidationError

JsonValue: TypeAlias = bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
"""A value of JSON; to look into it, ask what it is first."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""An object we write: every value is one of JSON."""

Fields: TypeAlias = Mapping[str, Any]
"""An object somebody else wrote, to be looked into; nothing is known of its values."""

Parsed: TypeAlias = dict[str, Any]
"""The same as it came from a parser, ours to change."""


def leaves(value: object) -> Iterator[object]:
    """What nested lists hold at their ends."""
    if isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif value is not None:
        yield value


def first_problem(error: ValidationError) -> str:
    """What pydantic complains of first, as ``field.field: sentence``.

    Where several shapes may stand (a text, an object) the one that fits best counts.
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
    """Whether a step of pydantic's place is the shape that was tried, and no field."""
    return part in ("str", "float") or part.startswith("constrained-") or "[" in part or part[:1].isupper()
