"""Where two states differ: attribute by attribute, only the leaves that differ, bounded in number and size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_bfcl.checkers.details import plain
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import parted

MAX_DIFFERENCES = 12
MAX_DEPTH = 12
MAX_SHOWN = 300
"""Characters that are shown of a differing text, around the place where it differs."""
ABSENT = "(absent)"


def state_difference(mine: Fields, wanted: Fields) -> Parsed:
    """Path → ``{expected, called}`` for every wanted attribute whose value is not equal; empty when all are.

    Only attributes of ``wanted`` are compared, with Python's ``==`` (multi_turn spec §4.2 e). At most
    `MAX_DIFFERENCES` leaves are shown; ``"…"`` then says how many attributes differ.
    """
    differing = [name for name in wanted if not _equal(mine.get(name, ABSENT), wanted[name])]
    found: Parsed = {}
    for name in differing:
        for path, expected, called in _leaves(name, wanted[name], mine.get(name, ABSENT), 0):
            if len(found) >= MAX_DIFFERENCES:
                found["…"] = f"{len(differing)} attributes differ: {', '.join(differing[:20])}"
                return found
            if isinstance(expected, str) and isinstance(called, str):
                expected, called = parted(expected, called, MAX_SHOWN)
            found[path] = {"expected": _short_leaf(expected), "called": _short_leaf(called)}
    return found


def _equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except RecursionError:
        return False


def _leaves(path: str, wanted: object, mine: object, depth: int) -> Iterator[tuple[str, Any, Any]]:
    """Paths under ``path`` at which the two values part, as ``(path, wanted, mine)``."""
    wanted, mine = _opened(wanted, mine)
    if depth < MAX_DEPTH and isinstance(wanted, Mapping) and isinstance(mine, Mapping):
        for key in [*wanted, *(key for key in mine if key not in wanted)]:
            one, other = wanted.get(key, ABSENT), mine.get(key, ABSENT)
            if not _equal(other, one):
                yield from _leaves(f"{path}.{str(key)[:60]}", one, other, depth + 1)
        return
    if depth < MAX_DEPTH and isinstance(wanted, list) and isinstance(mine, list):
        for index in range(max(len(wanted), len(mine))):
            one = wanted[index] if index < len(wanted) else ABSENT
            other = mine[index] if index < len(mine) else ABSENT
            if not _equal(other, one):
                yield from _leaves(f"{path}[{index}]", one, other, depth + 1)
        return
    yield path, wanted, mine


def _opened(wanted: object, mine: object) -> tuple[Any, Any]:
    """Objects of one class as their public attributes, where these show the difference."""
    if type(wanted) is type(mine) and hasattr(wanted, "__dict__"):
        parts = [{k.lstrip("_"): v for k, v in vars(each).items() if k != "parent"} for each in (wanted, mine)]
        if not _equal(parts[1], parts[0]):
            return parts[0], parts[1]
    return wanted, mine


def _short_leaf(value: object) -> Any:
    """A leaf for people: plain values as they are (shortened), anything else as short text."""
    if hasattr(value, "__dict__") and not isinstance(value, type):
        try:
            return str(value)[:MAX_SHOWN]
        except RecursionError:
            return f"<{type(value).__name__}>"
    shown = plain(value)
    return shown if not isinstance(shown, str) or len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"
