"""The language of requests: sentences with choices, written in one variant and read in all; words; clauses in turns.

A sentence is ``[look up|check] {symbol}``. Choices do not nest. A slot ``{name}`` is filled when a sentence is written
and captured when one is read. ``<check>`` is a choice among the synonyms that ``language.toml`` has for it, alone or
within another choice. The words (``words.toml``) fill worlds and requests; all are our own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any


def table(name: str) -> dict[str, Any]:
    """A table of words next to this module."""
    return tomllib.loads(Path(__file__).parent.joinpath(f"{name}.toml").read_text(encoding="utf-8"))


LANGUAGE: Mapping[str, Any] = table("language")
_REQUESTS = LANGUAGE["requests"]
_WORDS = table("words")
PEOPLE: list[str] = _WORDS["people"].split()
FAMILIES: list[str] = _WORDS["families"].split()
HANDLES = [f"{a}_{b}" for a in _WORDS["handles_first"].split() for b in _WORDS["handles_second"].split()]
TOPICS: dict[str, str] = _WORDS["topics"]
"""A theme → words for its files, messages and posts."""
_DAYS, _THINGS, _LIKE, _DID, _PLACES, _KIN, _ADVERBS, _ADJECTIVES = (
    _WORDS[each].split() for each in ("days", "things", "like", "did", "places", "kin", "adverbs", "adjectives")
)
ADVERB = 0.5
"""How often a sentence that may have adverbs or adjectives has one."""
ASIDES, REASONS = (5, 6), (1,)
"""Sentences in a turn that ask for nothing: who reads has to find the request among them."""

_SYNONYM = re.compile(r"\[[^\[\]]*\]|<(\w+)>")
_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_PIECE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]|\{(\w*)\}")
_ONE = re.compile(r"(?<![a-zA-Z])a(?=\\s\+|$)")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aio]|e(?!u)|u(?:g|m|p|n(?!i)))")
_SPACES = re.compile(r" {2,}")
_SEASONED = re.compile(r"\{(adv|adj)\} ?")

# -- sentences with choices --------------------------------------------------------------------------------------------


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


# -- words -------------------------------------------------------------------------------------------------------------


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
    told = rng.sample(_WORDS["notes"], rng.choice((1, 2)))
    return " ".join(capital(_filled(rng, each, TOPICS[theme].split())) for each in told)


def title(rng: Random, theme: str) -> str:
    """A title of a ticket."""
    return _filled(rng, rng.choice(_WORDS["titles"]), TOPICS[theme].split())


def _with_fillers(rng: Random, pattern: str) -> str:
    """A sentence with at most one of its adverbs and adjectives, a name, a place and times; other slots stay."""
    places = list(_SEASONED.finditer(pattern))
    chosen = rng.choice(places) if places and rng.random() < ADVERB else None
    words = {"adv": _ADVERBS, "adj": _ADJECTIVES}
    pattern = _SEASONED.sub(
        lambda found: f"{rng.choice(words[found[1]])} " if chosen and found.span() == chosen.span() else "", pattern
    )
    who, who2 = rng.sample(PEOPLE, 2)
    told = {
        "who": who, "who2": who2, "past": rng.choice(_WORDS["past"]), "soon": rng.choice(_WORDS["soon"]),
        "place": rng.choice(_PLACES), "kin": rng.choice(_KIN), "family": rng.choice(FAMILIES),
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
    return clean(spoken(rng, _with_fillers(rng, pattern)).format(
        a=a, b=b, A=capital(a), n=rng.randint(3, 980), day=rng.choice(_DAYS), like=like, like2=like2,
        Like=capital(like), did=did, did2=did2, place2=place2, thing=a, thing2=b,
        **{"as": plural(a), "bs": plural(b)},
    ))  # fmt: skip


def plural(noun: str) -> str:
    """A noun's plural, or a verb's third person."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeo" else f"{noun}s"


# -- turns -------------------------------------------------------------------------------------------------------------


def request(rng: Random, clauses: Sequence[str], question: str | None = None) -> str:
    """One turn of a user: up to three clauses, or a question with a following action."""
    told = dict(zip("abc", clauses, strict=False))
    told |= {name.upper(): capital(each) for name, each in told.items()}
    if question is None:
        text = rng.choice(_REQUESTS[("one", "two", "three")[len(clauses) - 1]])
    elif not clauses:
        return question
    else:
        text = f"{question} {request(rng, clauses)}" if len(clauses) > 1 else rng.choice(_REQUESTS["after_question"])
        told["Q"] = question
    return clean(spoken(rng, _with_fillers(rng, text)).format(**told))


def clause(rng: Random, say: Sequence[str], phrases: Mapping[str, str]) -> str:
    """One way to ask for a call."""
    return spoken(rng, rng.choice(say)).format(**phrases)


def among_asides(rng: Random, said: str, reasons: Sequence[str] = ()) -> str:
    """A request among sentences without one; some of them are reasons for it."""
    patterns = rng.sample(reasons, min(len(reasons), rng.choice(REASONS)))
    told = [capital(_filled(rng, each, _THINGS)) for each in patterns]
    told += [capital(_filled(rng, rng.choice(_WORDS["asides"]), _THINGS)) for _ in range(rng.choice(ASIDES))]
    rng.shuffle(told)
    before = rng.randint(0, len(told))
    return " ".join([*told[:before], said, *told[before:]])


def after(rng: Random, said: str) -> str:
    """A later turn, with or without a word that continues the conversation."""
    return clean(spoken(rng, _with_fillers(rng, rng.choice(_REQUESTS["next"]))) + said)


def value_text(value: Any) -> str:
    """A value as a user writes it."""
    if isinstance(value, list):
        parts = [value_text(each) for each in value]
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)
