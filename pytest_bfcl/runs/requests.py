"""The requests of one conversation in the journal: each digest, and the difference from earlier requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import is_not
from typing import NamedTuple

from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.lines import json_line_of_parsed, plain
from pytest_bfcl.transcript import Reply


def request_digest(
    messages: Sequence[Fields],
    functions: Sequence[Fields] = (),
    parameters: Fields | None = None,
) -> str:
    """SHA-256 of a request (hex): equal messages, tools and parameters give equal digests in every process."""
    return Requests("").digest(messages, functions, parameters)


def _parameters_digest(parameters: Fields) -> bytes:
    """The same for all requests of most runs; keyed by their Python spelling, which keeps 1, 1.0 and true apart."""
    values = dict(parameters)
    if not _SCALARS.issuperset(map(type, values.values())):
        return hashlib.sha256(_canonical(values)).digest()
    return _scalars_digest(tuple(zip(values, map(type, values.values()), values.values(), strict=True)))


_SCALARS = frozenset((str, int, float, bool, type(None)))


@lru_cache(maxsize=64)
def _scalars_digest(parameters: tuple[tuple[str, type, object], ...]) -> bytes:
    return hashlib.sha256(_canonical({name: value for name, _, value in parameters})).digest()


_NO_DOCUMENTS = hashlib.sha256(json_line_of_parsed(())).digest()
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_QUOTED = json.encoder.encode_basestring_ascii
_PLAIN_MESSAGE = {"role", "content"}


def _canonical(value: object) -> bytes:
    """A value as JSON in a canonical one-line form."""
    if type(value) is dict and value.keys() == _PLAIN_MESSAGE:
        content, role = value["content"], value["role"]
        if type(content) is str and type(role) is str:  # most messages: a fifth of the time
            return f'{{"content":{_QUOTED(content)},"role":{_QUOTED(role)}}}\n'.encode()
    try:
        text = _CANONICAL(value)
    except (TypeError, ValueError, RecursionError):
        text = _CANONICAL(plain(value))
    return text.encode() + b"\n"


LONG = 4_096
"""Length from which a message becomes a separate part: prompts with many functions, lists of files."""


class RequestDelta(NamedTuple):
    """The difference of a request from the lines before it.

    ``started_at`` is when its conversation began; ``kept``: how many messages of the previous line it begins with;
    ``messages``: the others, where ``{"reply": n}`` means the n-th reply of the conversation (from 0), unchanged, and
    ``{"sha256": …}`` a part; ``functions_sha256``: the part with the offered functions, empty for none; ``parts``:
    long, repeated texts by digest.
    """

    started_at: str
    kept: int
    messages: Sequence[Fields]
    functions_sha256: str
    parts: Mapping[str, Fields | Sequence[Fields]]


class Requests:
    """The requests of one conversation in order.

    Messages and documents are recognised by identity, so do not change sent ones. Those of earlier requests are not
    read again.
    """

    def __init__(self, started_at: str | None) -> None:
        self._started_at = started_at or ""
        self._seen: list[Fields] = []
        self._messages = hashlib.sha256()
        self._documents: tuple[Fields, ...] = ()
        self._functions = _NO_DOCUMENTS
        self._told: list[Fields] = []
        self.replies: list[tuple[Reply, int, int]] = []
        """The replies so far, with turn and step: they become history. The caller appends."""
        self._passed = 0
        self._offered: Sequence[Fields] = ()

    def digest(
        self, messages: Sequence[Fields], functions: Sequence[Fields] = (), parameters: Fields | None = None
    ) -> str:
        """Like `request_digest`."""
        if len(messages) < len(self._seen) or any(map(is_not, self._seen, messages)):
            self._seen, self._messages = [], hashlib.sha256()
        for message in messages[len(self._seen) :]:
            self._messages.update(_canonical(message))
            self._seen.append(message)
        self._offer(functions)
        whole = hashlib.sha256(self._messages.digest() + self._functions + _parameters_digest(parameters or {}))
        return whole.hexdigest()

    def _offer(self, functions: Sequence[Fields]) -> None:
        self._offered = functions
        if len(functions) != len(self._documents) or any(map(is_not, self._documents, functions)):
            # Most of a request's bytes: as they stand in the data, whose hash the run keeps, by the quickest writer.
            self._documents = tuple(functions)
            self._functions = hashlib.sha256(json_line_of_parsed(functions)).digest()

    def delta(self, messages: Sequence[Fields], functions: Sequence[Fields]) -> RequestDelta:
        """The difference of this request from those of earlier calls of this method."""
        parts: dict[str, Fields | Sequence[Fields]] = {}
        kept = 0
        for old, new in zip(self._told, messages, strict=False):
            if old is not new:
                break
            kept += 1
        self._told = list(messages)
        told: list[Fields] = []
        for message in messages[kept:]:
            content = message.get("content")
            as_it_is = not self.replies and (type(content) is not str or len(content) < LONG)
            told.append(message if as_it_is else self._by_reference(message, parts))
        self._passed = len(self.replies)
        digest = ""
        if functions:
            if functions is not self._offered:
                self._offer(functions)
            digest = self._functions.hex()
            parts[digest] = functions
        return RequestDelta(self._started_at, kept, told, digest, parts)

    def _by_reference(self, message: Fields, parts: dict[str, Fields | Sequence[Fields]]) -> Fields:
        if self._passed < len(self.replies) and message.get("role") == "assistant":
            for number in range(self._passed, len(self.replies)):
                reply, turn, step = self.replies[number]
                if message == reply.as_message(turn, step):
                    self._passed = number + 1
                    return {"reply": number}
        content = message.get("content")
        if type(content) is not str or len(content) < LONG:
            return message
        digest = hashlib.sha256(_canonical(message)).hexdigest()
        parts[digest] = message
        return {"sha256": digest}
