"""What tasks are made of: kinds of values, moves (one call with words for it), and domains (a simulator's moves).

A move's words are clauses ("cancel {order_id}") and questions ("What does {symbol} cost?"), with choices
(`.language`); each parameter in braces is replaced by a noun phrase for its value, whether the user says the value or
means an earlier result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators import Simulator

Draw = Callable[[Any, Random], object]
"""Simulator and random numbers → a value that a user may say, ``None`` where the world has none."""
Edit = Callable[[Parsed, Mapping[str, Any], Any], None]
"""Configuration, a call's arguments, and what the call is to find or whether it is to fail: changes the first."""

_NO_NAME = r"(?!(?:the|a|an|my|its|that|this|those|it|and|with|what)\b)"
WORD = _NO_NAME + r'[^\s",;?:]*[^\s",;?:.!]'
NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?"
NAME = r"[A-Z][\w'.]*\w(?:\s[A-Z][\w'.]*\w)*"
TEXT = r'[^"]+'
"""What a value looks like where it is read: a word, a number, a name, the inside of a quotation."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value that users say.

    ``said``: noun phrases with ``{}`` for the value. ``vague``: what somebody says who forgets the value; ``told``: how
    it is supplied when it was missed, with ``{}`` for a noun phrase. ``again``: whether a value that was said before is
    likely to be meant again (things that a conversation is about). ``form``: an expression for the value as written,
    where it is none of the usual ones.
    """

    draw: Draw
    said: tuple[str, ...] = ("{}",)
    vague: tuple[str, ...] = ()
    told: tuple[str, ...] = (
        "[Sorry|Right|Ah|Oh], [I mean|I meant|that is|it is] {}.", "[It's|That's|It would be] {}.", "{}, please.",
        "I forgot to [say|mention]: {}.",
    )  # fmt: skip
    again: bool = False
    show: Callable[[Any, Random], str] | None = None
    """How the value is written, where not as it is (dates)."""
    form: str | None = None


@dataclass(frozen=True, slots=True)
class Gift:
    """A value in a result: where it is, and how a user refers to it soon after (``near``) and later (``far``).

    Phrases may name the arguments of the call that gave it. ``about``: what a call that takes it is about as well (kind
    → parameter of the call that gave it): a stock's price goes with that stock.
    """

    path: Callable[[Any], object]
    near: tuple[str, ...]
    far: tuple[str, ...]
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that a call finds, for conditions (less than …, whichever is lower).

    ``noun``: what it is called; ``limits``: numbers to compare it with; ``edit``: sets it in a world, ``None``
    where it follows from the arguments; ``subject``: the kind of thing it is a measure of, and where its value stands,
    from arguments and result.
    """

    noun: str
    path: Callable[[Any], float]
    limits: tuple[float, ...]
    edit: Edit | None = None
    subject: tuple[str, Callable[[Mapping[str, Any], Any], object]] | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class State:
    """Something that holds or does not in a call's result: ``says``, with ``{value}`` of a kind (``kind``) if any.

    ``holds``: from arguments, result and value. ``edit``: makes it hold or not, given the value.
    """

    says: str
    holds: Callable[[Mapping[str, Any], Any, Any], bool]
    edit: Callable[[Parsed, Mapping[str, Any], Any, bool], None] | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """One call with words for it.

    ``takes``: parameter → kind. ``fixed``: parameters whose value the words imply. ``gives``: kind → what the result
    holds of it. ``once``: not twice in one conversation. ``weight``: how often it is chosen. ``after``: kinds that must
    come from an earlier result. ``fits``: whether the arguments make sense in the simulator's state. ``measure``,
    ``state`` and ``fails`` (makes the call fail in a world, or work) are what conditions are made of.
    """

    tool: str
    say: tuple[str, ...]
    takes: Mapping[str, str] = field(default_factory=dict)
    ask: tuple[str, ...] = ()
    fixed: Mapping[str, object] = field(default_factory=dict)
    gives: Mapping[str, Gift] = field(default_factory=dict)
    once: bool = False
    weight: float = 1.0
    after: frozenset[str] = frozenset()
    fits: Callable[[Any, Mapping[str, Any]], bool] | None = None
    shape: Mapping[str, str] = field(default_factory=dict)
    """Parameters that are objects: parameter → the one key that holds the value."""
    leads: tuple[str, ...] = ()
    """Tools that people mostly want next."""
    measure: Measure | None = None
    state: State | None = None
    fails: Edit | None = None


@dataclass(frozen=True, slots=True)
class Domain:
    """A simulator as a source of tasks.

    ``world``: the configuration it starts from. ``scenes``: what a user may say before the first request. ``told``:
    what has to be said before the first call, with fields of the configuration, unless the world is ``locked``. Then
    the move ``first`` (a login) has to come before all others.
    """

    simulator: str
    world: Callable[[Random], Parsed]
    kinds: Mapping[str, Kind]
    moves: tuple[Move, ...]
    scenes: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    first: Move | None = None
    locked: Callable[[Simulator], bool] = lambda simulator: False
    tells: str = ""
    """The kind of the value in ``told``."""

    @property
    def all_moves(self) -> tuple[Move, ...]:
        """The login too."""
        return (*self.moves, self.first) if self.first else self.moves


def one_of(*values: object) -> Draw:
    """One of fixed values."""
    return lambda simulator, rng: rng.choice(values)


def whole(low: int, high: int, step: int = 1) -> Draw:
    """A whole number."""
    return lambda simulator, rng: rng.randrange(low, high + 1, step)


def amount(low: int, high: int) -> Draw:
    """A number with decimal places, never a whole one: `5` and `5.0` are other texts in results."""

    def draw(simulator: object, rng: Random) -> float:
        return rng.randrange(low, high) + rng.choice((0.25, 0.4, 0.5, 0.75, 0.9))

    return draw
