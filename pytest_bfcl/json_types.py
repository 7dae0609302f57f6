"""Names for what JSON holds, so that a signature says what it takes and gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

JsonValue: TypeAlias = bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
"""A value of JSON; to look into it, ask what it is first."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""An object we write: every value is one of JSON."""

Fields: TypeAlias = Mapping[str, Any]
"""An object somebody else wrote, to be looked into; nothing is known of its values."""

Parsed: TypeAlias = dict[str, Any]
"""The same as it came out of a parser, ours to change."""


def leaves(value: object) -> Iterator[object]:
    """What nested lists hold at their ends."""
    if isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif value is not None:
        yield value
