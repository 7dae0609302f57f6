"""Answers: the received bytes, their server-sent events, and the content in neutral words.

This module repairs nothing. Event streams are parsed by the WHATWG HTML standard (§9.2.6), and deviations stay visible.
Reading is lenient where a separate check exists.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pytest_bfcl.json_types import Fields, Parsed

Trouble = Literal["timeout", "cut", "too_long", "unreachable"]
"""Why an answer is not complete: no answer, a broken connection, too many bytes, no server."""

DONE = "[DONE]"
EVENT_LIMIT = 200_000
"""Most events of one answer that are read."""
CALLS, STOP, LENGTH = "calls", "stop", "length"


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def loads(text: str) -> Any:
    """JSON or ``None``: hostile texts (deep nesting, giant numbers), NaN and Infinity also give ``None``."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True)
class Event:
    """One server-sent event: its ``event:`` line, its joined ``data:`` lines, its bytes; ``ended`` by an empty line."""

    name: str
    data: str
    raw: bytes
    ended: bool = True

    @cached_property
    def parsed(self) -> Any:
        """The data as JSON, ``None`` for anything else; every rule reads it."""
        return loads(self.data)


def split_events(data: bytes) -> Iterator[Event]:
    """The events of a stream; comments are skipped, lines may end in LF, CRLF or CR."""
    name, lines, raw = "", [], b""
    for count, line in enumerate(data.splitlines(keepends=True)):
        raw += line
        text = line.rstrip(b"\r\n").decode("utf-8", "replace")
        if text:
            field, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                lines.append(value)
            elif field == "event":
                name = value
            continue
        if lines:
            yield Event(name, "\n".join(lines), raw)
        name, lines, raw = "", [], b""
        if count > EVENT_LIMIT:
            return
    if lines:
        yield Event(name, "\n".join(lines), raw, ended=False)


_WRONG = re.compile(
    r"invalid_request|bad.?request|invalid|unprocessable|unsupported|not supported|\b4(?:00|22)\b", re.I
)
_TROUBLES: Mapping[Trouble, str] = {
    "timeout": "no complete answer in time",
    "cut": "the connection broke",
    "too_long": "endless answer",
    "unreachable": "unreachable",
}


@dataclass(frozen=True)
class Exchange:
    """One request and its complete answer. ``seconds`` until the end, ``first_s`` until the first byte."""

    path: str
    sent: bytes
    status: int = 0
    content_type: str = ""
    received: bytes = b""
    trouble: Trouble | None = None
    said: str = ""
    seconds: float = 0.0
    first_s: float = 0.0
    retry_after_s: float | None = None

    @cached_property
    def body(self) -> Any:
        """The answer as JSON, ``None`` for anything else."""
        return loads(self.text)

    @cached_property
    def text(self) -> str:
        """The answer as text; bytes that are no UTF-8 become replacement characters."""
        return self.received.decode("utf-8", "replace")

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The answer parsed as an event stream."""
        return tuple(split_events(self.received))

    def objects(self, typed: bool = False) -> Iterator[dict[str, Any]]:
        """The events that are JSON objects (``typed``: those with a type); all others are skipped."""
        for event in self.events:
            parsed = event.parsed
            if isinstance(parsed, dict) and (not typed or isinstance(parsed.get("type"), str)):
                yield parsed

    @property
    def kind(self) -> str:
        """The content type without its parameters."""
        return self.content_type.partition(";")[0].strip().lower()

    @property
    def says_wrong(self) -> bool:
        """Whether a gateway's 502 passes on the server's message that the request is wrong."""
        return self.status == 502 and _WRONG.search(self.text[:4_000]) is not None

    @property
    def refuses(self) -> bool:
        """Whether the server refuses this request with a 4xx (a gateway: with a 502)."""
        return 400 <= self.status < 500 or self.says_wrong

    @property
    def message(self) -> str:
        """The error text of an answer that is an error, else its beginning."""
        error = self.body.get("error", self.body) if isinstance(self.body, dict) else None
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail") or error
        return (error if isinstance(error, str) else json.dumps(error) if error else self.text)[:2_000]

    @property
    def problem(self) -> str:
        """The error before the body is read, else an empty text."""
        if self.trouble:
            return f"{_TROUBLES[self.trouble]}: {self.said}"
        return "" if self.status == 200 else f"HTTP {self.status}: {self.message}"


@dataclass(frozen=True)
class Call:
    """One call from the server; ``arguments`` is unchanged, text or not."""

    id: Any
    name: Any
    arguments: Any
    kind: Any = "function"

    @cached_property
    def values(self) -> Fields | None:
        """The arguments as an object, ``None`` if they are no JSON text of one."""
        value = loads(self.arguments) if isinstance(self.arguments, str) else None
        return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counts them; ``None`` without a whole number."""

    input: int | None
    output: int | None
    total: int | None

    @classmethod
    def of(cls, found: object, input_name: str, output_name: str) -> Usage | None:
        """Usage from an API's object."""
        if not isinstance(found, Mapping):
            return None
        counts = (found.get(name) for name in (input_name, output_name, "total_tokens"))
        return cls(*(count if is_count(count) else None for count in counts))


@dataclass(frozen=True)
class Reply:
    """An answer. ``finish`` is ``calls``, ``stop``, ``length`` or the server's own word; ``choice`` its position.

    ``thoughts``: the fields (chat), items or blocks with its reasoning, in the form to send back. ``problem`` says why
    it cannot be read; then other fields are meaningless.
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
        """The names of its reasoning fields."""
        return frozenset(str(each.get("type") or name) for each in self.thoughts for name in each)

    @property
    def form(self) -> str:
        """``streamed`` or ``unstreamed``, by the request."""
        return "streamed" if b'"stream": true' in self.exchange.sent else "unstreamed"


def is_text(value: object) -> bool:
    """A text that is not empty."""
    return isinstance(value, str) and bool(value)


def is_count(value: object) -> bool:
    """A whole number, and no boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def place_in(event: Mapping[str, Any], name: str = "index") -> Any:
    """The index, or another field of an event, as a key: lists and objects, which nothing is named by, as text."""
    found = event.get(name)
    return repr(found) if isinstance(found, list | dict) else found


def objects_in(listed: object) -> list[Any]:
    """The objects in what should be a list of them."""
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def text_of(value: object) -> str:
    """A text field that may be null, a text or a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in value)
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def joined_text(pieces: Iterable[str], errors: str = "surrogatepass") -> str:
    """Pieces as one text: half surrogate pairs in two deltas become one character."""
    return "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", errors)


class Reader(ABC):
    """Reads an API's answer: every choice, or one unreadable reply with the reason."""

    nothing_whole: str
    nothing_streamed: str

    def read(self, exchange: Exchange) -> tuple[Reply, ...]:
        """An unstreamed answer."""
        body = exchange.body
        found = self.replies_in(exchange, body) if not exchange.problem and isinstance(body, dict) else ()
        return found or (Reply(exchange, problem=exchange.problem or self.nothing_whole),)

    def join(self, exchange: Exchange) -> tuple[Reply, ...]:
        """The joined result of a stream."""
        found = () if exchange.problem else self.replies_of_stream(exchange)
        return found or (Reply(exchange, problem=exchange.problem or self.nothing_streamed),)

    @abstractmethod
    def replies_in(self, exchange: Exchange, body: Parsed) -> tuple[Reply, ...]:
        """The choices of an unstreamed body; none if it is no answer of this API."""

    @abstractmethod
    def replies_of_stream(self, exchange: Exchange) -> tuple[Reply, ...]:
        """The choices of joined events; none without any."""
