"""Sentences with choices, written in one variant and read in all: ``[look up|check] {symbol}``.

Choices do not nest. A slot ``{name}`` is filled when a sentence is written and captured when one is read. ``<check>``
is a choice among the synonyms that ``language.toml`` has for it, alone or within another choice.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

LANGUAGE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("language.toml").read_text(encoding="utf-8"))
_SYNONYM = re.compile(r"\[[^\[\]]*\]|<(\w+)>")
_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_PIECE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]|\{(\w*)\}")
_ONE = re.compile(r"(?<![a-zA-Z])a(?=\\s\+|$)")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aio]|e(?!u)|u(?:g|m|p|n(?!i)))")
_SPACES = re.compile(r" {2,}")


def with_synonyms(told: Any) -> Any:
    """A table whose texts have their synonyms as choices. Raises `KeyError` for a word without synonyms."""
    if isinstance(told, dict):
        return {name: with_synonyms(each) for name, each in told.items()}
    if isinstance(told, list):
        return [with_synonyms(each) for each in told]
    return _SYNONYM.sub(_choice, told) if isinstance(told, str) else told


def _choice(found: re.Match[str]) -> str:
    if found[1] is None:
        return re.sub(r"<(\w+)>", lambda inner: str(LANGUAGE["synonyms"][inner[1]]), found[0])
    return f"[{LANGUAGE['synonyms'][found[1]]}]"


def spoken(rng: Random, text: str) -> str:
    """One variant of it; slots stay."""
    return _CHOICE.sub(lambda found: rng.choice(found[1].split("|")), text)


@lru_cache(maxsize=8192)
def _reading(text: str) -> tuple[tuple[str, str | None], ...]:
    """The pieces of a sentence: (expression, ``None``) of fixed words, ("", name) of a slot."""
    pieces: list[tuple[str, str | None]] = []
    at = 0
    for found in _PIECE.finditer(text):
        pieces.append((_fixed(text[at : found.start()]), None))
        if found[1] is not None:
            pieces.append((f"(?:{'|'.join(_fixed(each) for each in found[1].split('|'))})", None))
        else:
            pieces.append(("", found[2]))
        at = found.end()
    return (*pieces, (_fixed(text[at:]), None))


def _fixed(text: str) -> str:
    if not text:
        return ""
    written = re.escape(text).replace(r"\ ", r"\s+")
    return "(?i:" + _ONE.sub("an?", written) + ")"


def reading(text: str, slots: Mapping[str, str], *, named: bool = True) -> str:
    """An expression for every variant; ``slots``: name → expression of the slot's text."""
    pieces = []
    for fixed, name in _reading(text):
        slot = None if name is None else slots.get(name, "")
        pieces.append(fixed if slot is None else f"(?P<{name}>{slot})" if named and name else f"(?:{slot})")
    return "".join(pieces)


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def clean(text: str) -> str:
    """One sign at the end of a sentence, also if a quotation ends with one, and the right article."""
    for sign in ".!?":
        text = text.replace(f'{sign}".', f'{sign}"')
    return _SPACES.sub(" ", _ARTICLE.sub(r"\1n ", text)).replace("..", ".").strip()
