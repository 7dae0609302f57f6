"""Server-sent events: arriving bytes are cut into events and passed to a joiner."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_bfcl.bodies import is_error, lasting_trouble
from pytest_bfcl.endings import heavier, is_marked
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import cut_stream
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.models.base import Joiner

STREAM_LIMIT = 2**28
"""Largest stream in bytes; each token arrives in an envelope many times its size."""

EVENT_LIMIT = 2**24
"""Largest event in bytes."""
ERROR_LIMIT = 1000
"""Characters of an error that are kept."""


_PIECES = frozenset(("choices", "index", "delta", "message", "text", "logprobs", "token_ids"))
"""Fields of chunks that the complete body does not have."""


class StreamEnd:
    """Facts in the chunks of one completion besides its pieces: who answers, usage, the first choice's ending.

    An error stays one after later chunks.
    """

    def __init__(self) -> None:
        self._about: Parsed = {}
        self._choice: Parsed = {}
        self._marked = False
        self._trouble: str | None = None

    def choices(self, event: Fields) -> list[Fields]:
        """The chunk's pieces of the first choice; the chunk's other facts are stored."""
        self._about |= {name: value for name, value in event.items() if value is not None}
        listed = event.get("choices")
        found = [
            choice for choice in (listed if isinstance(listed, list) else ())
            if isinstance(choice, Mapping) and choice.get("index") in (0, "0", None)
        ]  # fmt: skip
        for choice in found:
            self._end(choice)
        self._trouble = self._trouble or lasting_trouble(event, found[0] if found else {})
        self._marked = self._marked or is_marked(event, *found)
        return found

    def _end(self, choice: Fields) -> None:
        """The choice's ending; a later one never replaces an error."""
        known = self._choice.get("finish_reason")
        told = {name: value for name, value in choice.items() if value and name not in _PIECES}
        self._choice |= told
        if "finish_reason" in told:
            self._choice["finish_reason"] = heavier(known, told["finish_reason"], "any")

    def body(self, piece: Fields, *, over: bool) -> Parsed:
        """The completion around a complete ``message`` or ``text``; ``over``: the stream reported its end.

        Raises a retryable `AdapterError` ``malformed_body`` if neither the choice nor the stream ended.
        """
        if self._trouble is not None and not self._choice.get("error"):
            self._about = {**self._about, "error": self._trouble}
        if not over and "finish_reason" not in self._choice and self._trouble is None:
            raise cut_stream("no finish_reason came")
        mark = {"content_filter_results": {"any": {"filtered": True}}} if self._marked else {}
        return {**self._about, "choices": [{**self._choice, **mark, **piece}], "usage": self._about.get("usage")}


class EventReader:
    """Passes each event of one stream to a joiner. ``done`` after ``[DONE]``: the rest need not be read.

    ``error`` is the error object a server sent in place of the
    rest, or what is in the stream and is no field of an event. Events that the joiner does not need are not parsed.
    """

    def __init__(self, joiner: Joiner) -> None:
        self.done = False
        self.error: Fields | None = None
        self._joiner = joiner
        self._rest = b""
        self._read = 0

    def feed(self, chunk: bytes) -> None:
        """Add arrived bytes. Raises `AdapterError` ``malformed_body`` if they are no event stream."""
        self._read += len(chunk)
        data = self._rest + chunk
        if len(data) == self._read:  # the beginning, in however many pieces it came
            data = data.removeprefix(codecs.BOM_UTF8)
        # A CR at the end may be half of a line's end: it waits for what follows.
        waiting = b"\r" if data.endswith(b"\r") else b""
        data = data[: len(data) - len(waiting)]
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        blocks = data.split(b"\n\n")
        self._rest = blocks.pop() + waiting
        if self._read > STREAM_LIMIT or len(self._rest) > EVENT_LIMIT:
            raise AdapterError(AdapterTrouble.MALFORMED_BODY, f"the stream is longer than {STREAM_LIMIT} bytes")
        for block in blocks:
            self._block(block)

    def close(self) -> None:
        """The stream has ended: an event without its blank line counts if it is complete."""
        rest, self._rest = self._rest, b""
        self._block(rest.rstrip(b"\r\n"), last=True)

    def _block(self, block: bytes, *, last: bool = False) -> None:
        block = block.lstrip(b"\n")
        if self.error is not None or not block:
            return
        if not block.startswith(b"data:") and (odd := _odd_line(block, over=self.done)) is not None:
            self.error = {"error": odd.strip().decode("utf-8", "replace")[:ERROR_LIMIT] or "error"}
            return
        if not self.done and not self._joiner.wants(block):
            return
        data = _data_of(block)
        if not data:
            return
        if data.strip().upper() == b"[DONE]":
            self.done = self._joiner.done = True
            return
        event = _parsed(data, last=last or self.done)
        if isinstance(event, dict) and not is_error(event.get("error")) and event.get("type") != "error":
            if not self.done:
                self._joiner.add(event)
        elif isinstance(event, dict | str) and event:
            self.error = event if isinstance(event, dict) and event.get("error") else {"error": event}


_FIELD = re.compile(rb"[A-Za-z_-]*(?::|\Z)")
"""How a line of an event begins; a comment begins with a colon, and unknown fields are ignored."""
_ERROR_LINE = re.compile(rb"(?i)(?:event: ?)?(?:error|exception)s?(?::|\Z)")
"""An error event, or a line by which some servers end a broken stream."""


def _odd_line(block: bytes, *, over: bool) -> bytes | None:
    """The error in an event, or (unless the stream is ``over``) content that belongs to no event: its data, or the
    line."""
    for line in block.split(b"\n"):
        if _ERROR_LINE.match(line):
            return _data_of(block) or line.partition(b":")[2]
        if not over and line.strip() and not _FIELD.match(line):
            return line
    return None


def _data_of(block: bytes) -> bytes:
    """The data of an event: its ``data`` lines, joined."""
    return b"\n".join(line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:"))


def _parsed(data: bytes, *, last: bool) -> Any:
    from pydantic_core import from_json

    try:
        return from_json(data)
    except (ValueError, RecursionError):
        if last:  # cut in the middle: the joiner will say what is missing
            return None
        raise AdapterError(
            AdapterTrouble.MALFORMED_BODY, "the stream has an event that is not JSON", retryable=True
        ) from None
