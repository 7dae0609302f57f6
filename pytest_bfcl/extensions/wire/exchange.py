"""What went over the wire, kept as bytes: the request as sent, the answer as received, its server-sent events.

Nothing here repairs anything. Event streams are taken apart as the WHATWG HTML standard (§9.2.6) says; what a server
does
differently stays visible.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Trouble = Literal["timeout", "cut", "too_long", "unreachable"]
"""Why an answer is not complete: silence, a connection that broke, too many bytes, no server."""

DONE = "[DONE]"
EVENT_LIMIT = 200_000
"""Most events of one answer that are looked at."""


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its ``event:`` line, its joined ``data:`` lines, its bytes; ``ended`` by an empty line."""

    name: str
    data: str
    raw: bytes
    ended: bool = True

    @property
    def parsed(self) -> Any:
        """The data as JSON, ``None`` when it is none."""
        return loads(self.data)


@dataclass(frozen=True)
class Exchange:
    """One request and everything that came back. ``seconds`` until the end, ``first_s`` until the first byte."""

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
        """The answer as JSON, ``None`` when it is none."""
        return loads(self.text)

    @cached_property
    def text(self) -> str:
        """The answer as text; bytes that are no UTF-8 become replacement characters."""
        return self.received.decode("utf-8", "replace")

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The answer taken apart as an event stream."""
        return tuple(split_events(self.received))

    def objects(self, typed: bool = False) -> Iterator[dict[str, Any]]:
        """The events that are JSON objects (``typed``: those that say their type); all others are skipped."""
        for event in self.events:
            parsed = event.parsed
            if isinstance(parsed, dict) and (not typed or isinstance(parsed.get("type"), str)):
                yield parsed

    @property
    def streamed(self) -> bool:
        """Whether the server says that this is an event stream."""
        return self.content_type.partition(";")[0].strip().lower() == "text/event-stream"

    @property
    def says_wrong(self) -> bool:
        """Whether a gateway's 502 hands on what the server behind it says: that the request is wrong."""
        return self.status == 502 and _WRONG.search(self.text[:4_000]) is not None

    @property
    def message(self) -> str:
        """The error text of an answer that is an error, else its beginning."""
        error = self.body.get("error", self.body) if isinstance(self.body, dict) else None
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail") or error
        return (error if isinstance(error, str) else json.dumps(error) if error else self.text)[:2_000]


_WRONG = re.compile(
    r"invalid_request|bad.?request|invalid|unprocessable|unsupported|not supported|\b4(?:00|22)\b", re.I
)


def loads(text: str) -> Any:
    """JSON or ``None``: hostile texts (deep nesting, giant numbers) are no JSON either. NaN and Infinity are
    refused.
    """
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


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
