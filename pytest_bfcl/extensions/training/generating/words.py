"""Our own words for worlds and requests."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.language import capital, spoken

_WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
PEOPLE: list[str] = _WORDS["people"].split()
FAMILIES: list[str] = _WORDS["families"].split()
HANDLES = [f"{a}_{b}" for a in _WORDS["handles_first"].split() for b in _WORDS["handles_second"].split()]
TOPICS: dict[str, str] = _WORDS["topics"]
"""A theme → words for its files, messages and posts."""
DAYS: list[str] = _WORDS["days"].split()
_NOUNS = sorted({word for words in TOPICS.values() for word in words.split()})
_LIKE, _DID, _PLACES, _ADVERBS, _ADJECTIVES = (
    _WORDS[each].split() for each in ("like", "did", "places", "adverbs", "adjectives")
)
MANNERS: list[str] = _WORDS["manners"].split()
"""Manners of an action."""
_TIMES = [*DAYS, *_WORDS["times"].split()]


def topic(rng: Random) -> str:
    """A theme."""
    return rng.choice(list(TOPICS))


def term(rng: Random, theme: str) -> str:
    """A word of a theme."""
    return rng.choice(TOPICS[theme].split())


def line(rng: Random, theme: str) -> str:
    """A line of a file."""
    return _filled(rng, rng.choice(_WORDS["lines"]), TOPICS[theme].split())


def note(rng: Random, theme: str) -> str:
    """A message or post."""
    return capital(_filled(rng, rng.choice(_WORDS["notes"]), TOPICS[theme].split()))


def title(rng: Random, theme: str) -> str:
    """A title of a ticket."""
    return _filled(rng, rng.choice(_WORDS["titles"]), TOPICS[theme].split())


def aside(rng: Random) -> str:
    """A sentence without a request."""
    return filled(rng, rng.choice(_WORDS["asides"]))


def filled(rng: Random, pattern: str) -> str:
    """A sentence with its choices and slots filled."""
    return capital(_filled(rng, pattern, _NOUNS))


def with_fillers(rng: Random, pattern: str) -> str:
    """A sentence with different adverbs, adjectives and a name; other slots stay."""
    while "{ad" in pattern:
        pattern = pattern.replace("{adv}", rng.choice(_ADVERBS), 1).replace("{adj}", rng.choice(_ADJECTIVES), 1)
    return pattern.replace("{who}", rng.choice(PEOPLE))


def _filled(rng: Random, pattern: str, nouns: Sequence[str]) -> str:
    (a, b), (like, like2), (did, did2), (who, who2) = (
        rng.sample(each, 2) for each in (sorted({*nouns}), _LIKE, _DID, PEOPLE)
    )
    when, when2, when3 = rng.sample(_TIMES, 3)
    return spoken(rng, with_fillers(rng, pattern.replace("{who}", who))).format(
        a=a, b=b, A=capital(a), n=rng.randint(3, 980), day=rng.choice(DAYS), who2=who2, like=like, like2=like2,
        Like=capital(like), Like2=capital(like2), did=did, did2=did2, when=when, when2=capital(when2), when3=when3,
        place=rng.choice(_PLACES),
    )  # fmt: skip
