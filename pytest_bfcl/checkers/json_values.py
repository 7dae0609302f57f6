"""What a verdict tells, as something JSON can hold: bounded in depth, length and size, whatever a model wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.transcript import Call

MAX_ITEMS = 60
MAX_TEXT = 2000
MAX_DEPTH = 8


def plain(value: Any, depth: int = 0) -> Any:
    """A decoded value as something JSON can hold, bounded in depth, length and text size.

    Short texts, the bulk of every value, are spared their own call.
    """
    cls = type(value)
    if cls is str:
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if cls is bool or value is None:
        return value
    if cls is int:
        return value if -_BIG < value < _BIG else "a number too large to show"
    if cls is float:
        return value if value - value == 0 else str(value)  # not for infinities and NaN
    if depth >= MAX_DEPTH:
        return "…"
    deeper = depth + 1
    if cls is dict:
        items = value.items() if len(value) <= MAX_ITEMS else list(value.items())[:MAX_ITEMS]
        return {
            key if type(key) is str and len(key) < 200 else _key(key): (
                item if type(item) is str and len(item) <= MAX_TEXT else plain(item, deeper)
            )
            for key, item in items
        }
    if cls is list or cls is tuple:
        kept = value if len(value) <= MAX_ITEMS else value[:MAX_ITEMS]
        return [item if type(item) is str and len(item) <= MAX_TEXT else plain(item, deeper) for item in kept]
    if cls is Call:
        return plain({value.name: value.arguments}, depth)
    return _unusual(value, depth)


_BIG = 2**1024


def _key(key: object) -> str:
    """The null key of ``**mapping`` arguments (ast_checker spec §3.2) as it is written."""
    return "**" if key is None else str(key)[:200]


def _unusual(value: object, depth: int) -> Any:
    if isinstance(value, Mapping):
        return plain(dict(value), depth)
    if isinstance(value, (set, frozenset)):
        return plain(sorted(map(str, value)), depth)
    if isinstance(value, (str, bytes)):
        return plain(str(value), depth)
    try:
        return str(value)[:MAX_TEXT]
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"
