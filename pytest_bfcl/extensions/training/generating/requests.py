"""Makes a user's words from clauses: joining, openings, courtesy, asides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.language import LANGUAGE, capital, clean, spoken
from pytest_bfcl.extensions.training.generating.words import aside, filled, with_fillers

_SAID = LANGUAGE["requests"]
ASIDES, REASONS = (5, 6), (1,)
"""Sentences in a turn that ask for nothing: who reads has to find the request among them."""


def request(rng: Random, clauses: Sequence[str], question: str | None = None) -> str:
    """One turn of a user: up to three clauses, or a question with a following action."""
    if question is not None:
        if not clauses:
            return question
        rest = request(rng, clauses) if len(clauses) > 1 else None
        text = f"{question} {rest}" if rest else rng.choice(_SAID["after_question"])
        return _filled(rng, text, clauses, Q=question)
    return _filled(rng, rng.choice(_SAID[("one", "two", "three")[len(clauses) - 1]]), clauses)


def _filled(rng: Random, text: str, clauses: Sequence[str], **more: str) -> str:
    told = dict(zip("abc", clauses, strict=False))
    return clean(
        spoken(rng, with_fillers(rng, text)).format(
            **told, **{name.upper(): capital(each) for name, each in told.items()}, **more
        )
    )


def clause(rng: Random, say: Sequence[str], phrases: Mapping[str, str]) -> str:
    """One way to ask for a call."""
    return spoken(rng, rng.choice(say)).format(**phrases)


def among_asides(rng: Random, said: str, reasons: Sequence[str] = ()) -> str:
    """A request among sentences without one; some of them are reasons for it."""
    told = [filled(rng, each) for each in rng.sample(reasons, min(len(reasons), rng.choice(REASONS)))]
    told += [aside(rng) for _ in range(rng.choice(ASIDES))]
    rng.shuffle(told)
    before = rng.randint(0, len(told))
    return " ".join([*told[:before], said, *told[before:]])


def after(rng: Random, said: str) -> str:
    """A later turn, with or without a word that continues the conversation."""
    return clean(spoken(rng, with_fillers(rng, rng.choice(_SAID["next"]))) + said)


def value_text(value: Any) -> str:
    """A value as a user writes it."""
    if isinstance(value, list):
        parts = [value_text(each) for each in value]
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)
