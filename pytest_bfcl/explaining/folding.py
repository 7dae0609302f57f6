"""Errors alike, told once with how many entries ended so: thousands of equal lines hide the one that matters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pytest_bfcl.json_types import Fields

ALIKE = 3
"""Failures of one reason that are still listed one by one."""
NAMED = 3
"""Entries that are named beside the first."""

T = TypeVar("T")


def error_text(record: Fields) -> str:
    """What is shown of an error: tag and reason, what happened, what to do."""
    detail = record.get("detail") or {}
    lines = [f"{record.get('tag')}: {record.get('reason')}", f"  {detail.get('error') or record.get('reason')}"]
    return "\n".join([*lines, f"  what to do: {detail['advice']}"] if detail.get("advice") else lines)


def sign_of(text: str, entry_id: str) -> str:
    """What makes two errors alike: their texts, the entry's id and all numbers aside."""
    return re.sub(r"\d+", "", text.replace(entry_id, ""))


def alike(items: Iterable[T], sign: Callable[[T], str]) -> list[list[T]]:
    """The items in groups of one sign, in the order of each group's first."""
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(sign(item), []).append(item)
    return list(groups.values())


def ids_text(ids: Sequence[str], count: int | None = None) -> str:
    """The first ids; ``count`` is how many there are in all, where these are only the first of them."""
    shown = ", ".join(ids[:NAMED])
    return f"{shown} …" if max(len(ids), count or 0) > NAMED else shown
