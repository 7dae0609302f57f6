"""Our own words for worlds and requests."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.language import capital, clean, spoken

_WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
PEOPLE: list[str] = _WORDS["people"].split()
FAMILIES: list[str] = _WORDS["families"].split()
HANDLES = [f"{a}_{b}" for a in _WORDS["handles_first"].split() for b in _WORDS["handles_second"].split()]
TOPICS: dict[str, str] = _WORDS["topics"]
"""A theme → words for its files, messages and posts."""
DAYS: list[str] = _WORDS["days"].split()
_THINGS, _LIKE, _DID, _PLACES, _KIN, _ADVERBS, _ADJECTIVES = (
    _WORDS[each].split() for each in ("things", "like", "did", "places", "kin", "adverbs", "adjectives")
)
_PAST: list[str] = _WORDS["past"]
_SOON: list[str] = _WORDS["soon"]
_SEASONED = re.compile(r"\{(adv|adj)\} ?")
ADVERB = 0.5
"""How often a sentence that may have adverbs or adjectives has one."""


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
    """A message or post, of a sentence or two."""
    said = [
        capital(_filled(rng, each, TOPICS[theme].split())) for each in rng.sample(_WORDS["notes"], rng.choice((1, 2)))
    ]
    return " ".join(said)


def title(rng: Random, theme: str) -> str:
    """A title of a ticket."""
    return _filled(rng, rng.choice(_WORDS["titles"]), TOPICS[theme].split())


def aside(rng: Random) -> str:
    """A sentence without a request."""
    return filled(rng, rng.choice(_WORDS["asides"]))


def filled(rng: Random, pattern: str) -> str:
    """A sentence with choices and slots, said."""
    return capital(_filled(rng, pattern, _THINGS))


def with_fillers(rng: Random, pattern: str) -> str:
    """A sentence with at most one of its adverbs and adjectives, a name, a place and times; other slots stay."""
    places = list(_SEASONED.finditer(pattern))
    chosen = rng.choice(places) if places and rng.random() < ADVERB else None
    words = {"adv": _ADVERBS, "adj": _ADJECTIVES}
    pattern = _SEASONED.sub(
        lambda found: f"{rng.choice(words[found[1]])} " if chosen and found.span() == chosen.span() else "", pattern
    )
    who, who2 = rng.sample(PEOPLE, 2)
    told = {
        "who": who, "who2": who2, "past": rng.choice(_PAST), "soon": rng.choice(_SOON), "place": rng.choice(_PLACES),
        "kin": rng.choice(_KIN), "family": rng.choice(FAMILIES),
    }  # fmt: skip
    for name, word in told.items():
        pattern = pattern.replace(f"{{{name}}}", word).replace(f"{{{capital(name)}}}", capital(word))
    return pattern


def _filled(rng: Random, pattern: str, nouns: Sequence[str]) -> str:
    (a, b), (like, like2), (did, did2), (who, who2), (place, place2) = (
        rng.sample(each, 2) for each in (nouns, _LIKE, _DID, PEOPLE, _PLACES)
    )
    for name, word in {"who": who, "who2": who2, "place": place}.items():
        pattern = pattern.replace(f"{{{name}}}", word)
    return clean(spoken(rng, with_fillers(rng, pattern)).format(
        a=a, b=b, A=capital(a), n=rng.randint(3, 980), day=rng.choice(DAYS), like=like, like2=like2,
        Like=capital(like), did=did, did2=did2, place2=place2, thing=a, thing2=b,
        **{"as": plural(a), "bs": plural(b)},
    ))  # fmt: skip


def plural(noun: str) -> str:
    """Several of a thing."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeo" else f"{noun}s"
