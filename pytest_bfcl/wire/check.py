"""What a check is, and how one ends: held, broken by the server, refused, or not tried because the model did not call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_bfcl.wire.exchange import Exchange

if TYPE_CHECKING:
    from pytest_bfcl.wire.answers import Answer
    from pytest_bfcl.wire.probe import Probe

Api = Literal["chat", "responses"]
APIS: tuple[Api, ...] = ("chat", "responses")


@dataclass(frozen=True, slots=True)
class Rule:
    """What must be so, in one or two sentences, and where it is written (a section's name, never a made-up link)."""

    text: str
    where: str


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its rule, and ``judge``, which asks and raises unless the rule held.

    ``after``: checks without which this one means nothing; when one of them is broken, this one is not judged.
    ``optional``: a server may refuse what is asked here with a clean 4xx. ``alone``: nothing else runs beside it.
    """

    name: str
    rule: Rule
    judge: Callable[[Probe], Awaitable[None]]
    after: tuple[str, ...] = ()
    apis: tuple[Api, ...] = APIS
    optional: bool = False
    alone: bool = False
    group: str = ""

    @property
    def reason(self) -> str:
        """The reason of a failure."""
        return f"wire:{self.name}"


class Ending(Exception):
    """How a check ended other than held. ``exchanges`` prove it; ``proof`` is the part of the bytes that matters."""

    def __init__(self, why: str, *shown: Answer | Exchange, proof: bytes = b"") -> None:
        super().__init__(why)
        self.why = why
        self.exchanges = tuple(each if isinstance(each, Exchange) else each.exchange for each in shown)
        self.proof = proof


class Broke(Ending):
    """The server broke the rule. ``certain`` is false where a strange model could have done the same."""

    certain = True


class LikelyBroke(Broke):
    """A rule is broken by something that a model could do too, but none is known to."""

    certain = False


class NotCalled(Ending):
    """The model did not do what was plainly asked: nothing is said about the server."""


class Refused(Ending):
    """The server says, with a 4xx, that it does not offer this."""
