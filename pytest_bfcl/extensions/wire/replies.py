"""What came back, in no API's words. Reading is lenient about everything that its own check looks at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_bfcl.extensions.wire.exchange import Exchange, loads
from pytest_bfcl.json_types import Fields, Parsed

CALLS, STOP, LENGTH = "calls", "stop", "length"


@dataclass(frozen=True)
class Call:
    """One call as the server gave it; ``arguments`` is what stood there, text or not."""

    id: Any
    name: Any
    arguments: Any
    kind: Any = "function"

    @cached_property
    def values(self) -> Fields | None:
        """The arguments as an object, ``None`` when they are no JSON text of one."""
        value = loads(self.arguments) if isinstance(self.arguments, str) else None
        return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counts them; ``None`` where there is no whole number."""

    input: int | None
    output: int | None
    total: int | None

    @classmethod
    def of(cls, found: object, input_name: str, output_name: str) -> Usage | None:
        """Usage from an API's object."""
        if not isinstance(found, Mapping):
            return None
        return cls(*(_whole(found.get(name)) for name in (input_name, output_name, "total_tokens")))


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Reply:
    """An answer. ``finish`` is ``calls``, ``stop``, ``length`` or the server's own word; ``choice`` its position.

    ``thoughts``: the fields (chat), items or blocks with its reasoning, as they go back. ``problem`` says why it cannot
    be read; then nothing else means anything.
    """

    exchange: Exchange
    calls: tuple[Call, ...] = ()
    text: str = ""
    reasoning: str = ""
    finish: str | None = None
    usage: Usage | None = None
    problem: str = ""
    choice: int = 0
    thoughts: tuple[Fields, ...] = ()

    @property
    def reasoning_in(self) -> frozenset[str]:
        """The names under which reasoning stands."""
        return frozenset(str(each.get("type") or name) for each in self.thoughts for name in each)

    @property
    def form(self) -> str:
        """``streamed`` or ``unstreamed``, by what was asked."""
        return "streamed" if b'"stream": true' in self.exchange.sent else "unstreamed"


def text_of(value: object) -> str:
    """A text field that may be null, a text or a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in value)
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def transport_problem(exchange: Exchange) -> str:
    """What is wrong before the body is looked at, else an empty text."""
    if exchange.trouble:
        return {
            "timeout": "no complete answer in time",
            "cut": "the connection broke",
            "too_long": "endless answer",
        }.get(exchange.trouble, exchange.trouble) + f": {exchange.said}"
    return "" if exchange.status == 200 else f"HTTP {exchange.status}: {exchange.message}"


def joined_text(pieces: Iterable[str], errors: str = "surrogatepass") -> str:
    """Pieces as one text: two halves of a surrogate pair in two deltas are one character wherever UTF-16 is joined."""
    return "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", errors)


class Reader(ABC):
    """Reads what an API answered: every choice, or one unreadable reply that says why."""

    nothing_whole: str
    nothing_streamed: str

    def read(self, exchange: Exchange) -> tuple[Reply, ...]:
        """An unstreamed answer."""
        problem, body = transport_problem(exchange), exchange.body
        found = self.replies_in(exchange, body) if not problem and isinstance(body, dict) else ()
        return found or (Reply(exchange, problem=problem or self.nothing_whole),)

    def join(self, exchange: Exchange) -> tuple[Reply, ...]:
        """What a stream adds up to."""
        problem = transport_problem(exchange)
        return (() if problem else self.replies_of_stream(exchange)) or (
            Reply(exchange, problem=problem or self.nothing_streamed),
        )

    @abstractmethod
    def replies_in(self, exchange: Exchange, body: Parsed) -> tuple[Reply, ...]:
        """The choices of an unstreamed body; none where it is no answer of this API."""

    @abstractmethod
    def replies_of_stream(self, exchange: Exchange) -> tuple[Reply, ...]:
        """The choices that events add up to; none where there are none."""
