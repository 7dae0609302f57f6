"""From clauses to what a user says: joining, openings, courtesy, asides. Sentences of our own, with choices."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.domains.words import aside
from pytest_bfcl.extensions.training.generating.language import capital, clean, spoken

_ONE = (
    "{A}.", "{A}.", "{A}, please.", "Please {a}.", "[Could|Can|Would|Will] you {a}?",
    "[I'd like|I need|I want] you to {a}.",
    "[Kindly|Now|Quickly] {a}.", "[Be so kind and|Do|Just] {a}.", "{A}, if you [can|would|may].",
)  # fmt: skip
_TWO = (
    "{A}, then {b}.", "{A}. [Then|Next,|After that,|Subsequently] {b}.", "{A} and then {b}.",
    "First {a}; [after that|next|later], {b}.",
    "Please {a}. [Once you have that|When that is done|Following this], {b}.",
    "{A}; [afterwards|next|thereafter], {b}.", "[Could|Can|Would] you {a}, and [then|afterwards] {b}?",
    "[Please|Now|Do] {a}. With that [done|finished|settled], {b}.",
)  # fmt: skip
_THREE = (
    "{A}, then {b}, and finally {c}.", "First {a}. Then {b}, [and at the end|lastly|then also] {c}.",
    "Please {a}, {b}, and after that {c}.", "{A}. [Next|Then], {b}. [Finally|At last], {c}.",
)  # fmt: skip
_AFTER_QUESTION = ("{Q} {A}.", "{Q} After that, {a}.", "{Q} Then {a}, please.", "{Q} And {a}.")
_NEXT = (
    "", "", "", "", "Thanks. ", "Good. ", "Great. ", "Okay. ", "All right. ", "One more thing. ",
    "Perfect, thank you. ",
    "That helps. ", "Fine. ",
)  # fmt: skip
ASIDES = (2, 3, 3, 3)
"""Sentences in a turn that ask for nothing: who reads has to find the request among them."""


def request(rng: Random, clauses: Sequence[str], question: str | None = None) -> str:
    """One turn of a user: up to three clauses, or a question with what is to be done after it."""
    if question is not None:
        if not clauses:
            return question
        rest = request(rng, clauses) if len(clauses) > 1 else None
        text = f"{question} {rest}" if rest else rng.choice(_AFTER_QUESTION)
        return _filled(rng, text, clauses, Q=question)
    return _filled(rng, rng.choice((_ONE, _TWO, _THREE)[len(clauses) - 1]), clauses)


def _filled(rng: Random, text: str, clauses: Sequence[str], **more: str) -> str:
    told = dict(zip("abc", clauses, strict=False))
    return clean(
        spoken(rng, text).format(**told, **{name.upper(): capital(each) for name, each in told.items()}, **more)
    )


def among_asides(rng: Random, said: str) -> str:
    """A request with sentences before and after it that ask for nothing."""
    count = rng.choice(ASIDES)
    before = rng.randint(0, count)
    return " ".join([*(aside(rng) for _ in range(before)), said, *(aside(rng) for _ in range(count - before))])


def after(rng: Random, said: str) -> str:
    """A later turn: with or without a word that takes up the conversation."""
    return clean(rng.choice(_NEXT) + said)


def value_text(value: Any) -> str:
    """A value as a user writes it."""
    if isinstance(value, list):
        parts = [value_text(each) for each in value]
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)
