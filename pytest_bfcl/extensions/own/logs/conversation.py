"""One recorded conversation, whatever it was recorded by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies import Said, UnknownShape


@dataclass(frozen=True, slots=True)
class Conversation:
    """``place`` is where it stands; ``tools`` are the documents that were offered, as JSON Schema has them.

    ``trouble``: why its last reply may not be taken for what is right.
    """

    place: str
    tools: tuple[Parsed, ...]
    said: tuple[Said, ...]
    trouble: str | None = None


def parsed(value: object, what: str) -> Any:
    """A value that some logs hold as JSON text. Raises `UnknownShape`."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise UnknownShape(f"{what} is not JSON: {value[:80]!r}") from None


def maybe_parsed(value: object) -> Any:
    """The same, where a text may also be meant as one."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def objects(value: object, what: str) -> list[Fields]:
    """A list of objects. Raises `UnknownShape`."""
    listed = parsed(value, what)
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        raise UnknownShape(f"{what} is no list of objects")
    return listed
