"""From clauses to what a user says: joining, openings, courtesy. Templates in our own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

_ONE = (
    "{A}.", "{A}.", "{A}, please.", "Please {a}.", "Could you {a}?", "Can you {a}?", "I'd like you to {a}.",
    "I need you to {a}.", "Would you {a}?",
)  # fmt: skip
_TWO = (
    "{A}, then {b}.", "{A}. Then {b}.", "{A} and then {b}.", "First {a}; after that, {b}.",
    "Please {a}. Once you have that, {b}.",
    "{A}; afterwards, {b}.", "Could you {a}, and then {b}?", "I want you to {a}. With that done, {b}.",
)  # fmt: skip
_THREE = (
    "{A}, then {b}, and finally {c}.", "First {a}. Then {b}, and at the end {c}.",
    "Please {a}, {b}, and after that {c}.",
    "{A}. Next, {b}. Finally, {c}.",
)  # fmt: skip
_AFTER_QUESTION = ("{Q} {A}.", "{Q} After that, {a}.", "{Q} Then {a}, please.", "{Q} And {a}.")
_NEXT = (
    "", "", "", "", "Thanks. ", "Good. ", "Great. ", "Okay, ", "Now ", "All right, ", "One more thing: ",
    "Perfect, thank you. ", "That helps. ", "Fine. ",
)  # fmt: skip


def request(rng: Random, clauses: Sequence[str], question: str | None = None) -> str:
    """One turn of a user: up to three clauses, or a question with what is to be done after it."""
    if question is not None:
        if not clauses:
            return question
        rest = request(rng, clauses) if len(clauses) > 1 else None
        text = f"{question} {rest}" if rest else rng.choice(_AFTER_QUESTION)
        return _filled(text, clauses, Q=question)
    return _filled(rng.choice((_ONE, _TWO, _THREE)[len(clauses) - 1]), clauses)


def _filled(text: str, clauses: Sequence[str], **more: str) -> str:
    told = dict(zip("abc", clauses, strict=False))
    return clean(text.format(**told, **{name.upper(): capital(clause) for name, clause in told.items()}, **more))


def after(rng: Random, said: str) -> str:
    """A later turn: with or without a word that takes up the conversation."""
    opening = rng.choice(_NEXT)
    if opening.endswith((", ", "Now ")):
        said = lowered(said)
    return clean(opening + said)


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def lowered(text: str) -> str:
    """The text as the rest of a sentence; names and ``I`` keep their capital."""
    first = text.split(" ", 1)[0]
    return text if first in ("I", "I'd", "I'm", "I've") or not first[1:].islower() else text[:1].lower() + text[1:]


def clean(text: str) -> str:
    """One sign at the end of a sentence, also where a quotation ends with one, and the right article."""
    for sign in ".!?":
        text = text.replace(f'{sign}".', f'{sign}"')
    return re.sub(r"\b([Aa]) (?=[aeio])", r"\1n ", text).replace("..", ".").strip()


def value_text(value: Any) -> str:
    """A value as a user writes it."""
    if isinstance(value, list):
        parts = [value_text(each) for each in value]
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)
