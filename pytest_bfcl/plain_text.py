"""Texts nobody vouches for as short plain text: no control characters, bounded, cut where they say least."""

from __future__ import annotations

import re
import unicodedata

MAX_CLEANED = 4_000

_ODD = re.compile("[^ -~]")
"""Characters that may need an escape."""


def clean(text: str) -> str:
    """The text with control, format and unpaired surrogate characters escaped, so a terminal shows what is there.

    A text of more than `MAX_CLEANED` characters is cut, marked with ``…``: no shown place has room for it.
    """
    text = cut(text, MAX_CLEANED)
    return text if text.isprintable() else _ODD.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    character = found.group()
    return character if _is_plain(character) else _escaped(character)


def _is_plain(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) in ("Zs", "Mn", "Mc")


def _escaped(character: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character) or character.encode("unicode_escape").decode()


def shortened(text: str, width: int) -> str:
    """At most ``width`` characters, the cut marked with ``…``; white space runs become one space."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(width - 1, 1)] + "…"


def cut(text: str, width: int) -> str:
    """At most ``width`` characters, the cut marked with ``…``."""
    return text if len(text) <= width else text[: max(width - 1, 1)] + "…"


def parted(one: str, other: str, width: int) -> tuple[str, str]:
    """Two texts, each at most ``width`` characters, cut such that the place where they part is still to be seen."""
    if max(len(one), len(other)) <= width:
        return one, other
    same = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        same += 1
    start = max(same - width // 3, 0)
    if start < 4:
        return cut(one, width), cut(other, width)
    return cut("…" + one[start:], width), cut("…" + other[start:], width)
