"""The journal: every reply with its request, written on arrival, so that no paid request is sent twice.

One file per process (``journal/<process>.jsonl``), one line per reply: the key first, then the request's difference
from the lines before it (`RequestDelta`), the reply last. A resumed run reads the files of all processes; only
positions stay in memory, bodies are read on access. `Transcripts` rebuilds whole conversations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from itertools import filterfalse
from operator import is_not
from pathlib import Path
from typing import NamedTuple

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.fields import misfit, shortened_json
from pytest_bfcl.runs.lines import DamagedLine, LineAppender, json_line_of_parsed, parse_object, plain, read_json_lines
from pytest_bfcl.transcript import ProviderState, Reply, Served, ToolCall
from pytest_bfcl.troubles import HarnessTrouble


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


def _canonical(value: Fields) -> bytes:
    """An object as JSON in a canonical one-line form."""
    if value.keys() == _PLAIN_MESSAGE:
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
    parts: Mapping[str, bytes]


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
        self._functions, self._functions_text = _NO_DOCUMENTS, b"[]"
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
            line = json_line_of_parsed(functions)
            self._functions, self._functions_text = hashlib.sha256(line).digest(), line[:-1]

    def delta(self, messages: Sequence[Fields], functions: Sequence[Fields]) -> RequestDelta:
        """The difference of this request from those of earlier calls of this method."""
        parts: dict[str, bytes] = {}
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
            parts[digest] = self._functions_text
        return RequestDelta(self._started_at, kept, told, digest, parts)

    def _by_reference(self, message: Fields, parts: dict[str, bytes]) -> Fields:
        if message.get("role") == "assistant":
            for number in range(self._passed, len(self.replies)):
                reply, turn, step = self.replies[number]
                if message == reply.as_message(turn, step):
                    self._passed = number + 1
                    return {"reply": number}
        content = message.get("content")
        if type(content) is not str or len(content) < LONG:
            return message
        line = _canonical(message)
        digest = hashlib.sha256(line).hexdigest()
        parts[digest] = line[:-1]
        return {"sha256": digest}


class ReplyKey(NamedTuple):
    """What one reply answers: the query of a conversation, and the request's SHA-256.

    ``repeat`` counts from 1, ``turn`` and ``step`` from 0.
    """

    model: str
    mode: str
    entry_id: str
    repeat: int
    turn: int
    step: int
    request_sha256: str


def reply_to_dict(reply: Reply) -> Parsed:
    """A reply in the journal's form; optional fields only if set."""
    line: Parsed = {
        "text": reply.text,
        "tool_calls": [{"name": c.name, "arguments": c.arguments, "id": c.id} for c in reply.tool_calls],
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "latency_s": reply.latency_s,
        "attempts": reply.attempts,
        "problem": reply.problem,
    }
    if reply.reasoning_tokens is not None:
        line["reasoning_tokens"] = reply.reasoning_tokens
    if reply.first_token_s is not None:
        line["first_token_s"] = reply.first_token_s
    if reply.state is not None:
        line["state"] = reply.state.to_dict()
    if reply.served is not None:
        line["served"] = reply.served.to_dict()
    return line


def reply_from_dict(values: Fields) -> Reply:
    """The inverse of `reply_to_dict`. Raises `KeyError` or `TypeError` for other shapes."""
    if not isinstance(values, Mapping):
        raise TypeError(f"reply is {shortened_json(values)}, not an object")
    if (problem := misfit(values, "reply")) is not None:
        raise TypeError(f"reply.{problem}")
    state = values.get("state")
    return Reply(
        text=values["text"],
        tool_calls=tuple(ToolCall(c["name"], c["arguments"], c.get("id")) for c in values["tool_calls"]),
        reasoning=values.get("reasoning"),
        finish_reason=values.get("finish_reason"),
        input_tokens=values.get("input_tokens"),
        output_tokens=values.get("output_tokens"),
        latency_s=values.get("latency_s"),
        attempts=values.get("attempts", 1),
        problem=values.get("problem"),
        reasoning_tokens=values.get("reasoning_tokens"),
        first_token_s=values.get("first_token_s"),
        state=ProviderState.from_dict(state) if isinstance(state, Mapping) else None,
        served=Served.from_dict(values.get("served")),
    )


def journal_line(key: ReplyKey, reply: Reply, delta: RequestDelta | None = None, written: Container[str] = ()) -> bytes:
    """The journal line of one reply with its newline; ``written``: digests of parts that earlier lines have."""
    head: Parsed = {
        "model": key.model,
        "mode": key.mode,
        "id": key.entry_id,
        "repeat": key.repeat,
        "turn": key.turn,
        "step": key.step,
        "request_sha256": key.request_sha256,
    }
    tail: Parsed = {}
    parts = b""
    if delta is not None:
        head["started_at"], head["kept"] = delta.started_at, delta.kept
        if new := list(filterfalse(written.__contains__, delta.parts)):
            head["new"] = new
            parts = b',"parts":[' + b",".join(map(delta.parts.__getitem__, new)) + b"]"
        if delta.functions_sha256:
            tail["functions_sha256"] = delta.functions_sha256
        tail["messages"] = delta.messages
    tail["reply"] = reply_to_dict(reply)
    return json_line_of_parsed(head)[:-2] + parts + b"," + json_line_of_parsed(tail)[1:]


def read_journal_line(line: Fields) -> tuple[ReplyKey, Reply]:
    """The inverse of `journal_line`. Raises `ValueError` with the line's error."""
    try:
        return key_of(line), reply_from_dict(line["reply"])
    except KeyError as error:
        raise ValueError(f"not a journal line: {error.args[0]} is missing") from None
    except TypeError as error:
        raise ValueError(f"not a journal line: {error}") from None


class Journal:
    """The replies of a run; one writer per process name, constant-time lookup over all processes' files.

    ``damaged`` lists lines that could not be read on opening (a crash damages at most the last line of a file).
    ``ended`` is why the ending run sends no more requests.
    """

    def __init__(self, directory: Path, process: str = "main") -> None:
        self.directory = directory
        self.path = directory / f"{process}.jsonl"
        self.damaged: list[DamagedLine] = []
        self._files: list[Path] = []
        self._index: dict[int, tuple[int, int, int]] = {}  # by the hash of the key, which need not be held so
        self._writer: LineAppender | None = None
        self._own = 0
        self.ended: str | None = None
        self._parts: set[str] = set()
        for path in sorted(directory.glob("*.jsonl")):
            self._read(path)

    def find(self, key: ReplyKey) -> Reply | None:
        """The reply recorded for this request, or ``None``. Raises `HarnessError` (``stopped``) if no more requests are
        sent."""
        place = self._index.get(hash(key))
        if place is None:
            if self.ended is not None:
                raise HarnessError(HarnessTrouble.STOPPED, self.ended)
            return None
        file, offset, length = place
        try:
            with open(self._files[file], "rb") as stream:
                stream.seek(offset)
                line = parse_object(stream.read(length))
            # The index holds hashes: compare the key itself before believing it.
            return reply_from_dict(line["reply"]) if key_of(line) == key else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise HarnessError(
                HarnessTrouble.STORAGE, f"cannot read a reply back from {self._files[file]}: {error}"
            ) from error

    def record(self, key: ReplyKey, reply: Reply, delta: RequestDelta | None = None) -> None:
        """Append one reply; it has left this process on return. Raises `HarnessError` if the disk is full."""
        if self._writer is None:
            self._writer, self._own = LineAppender(self.path), self._number(self.path)
        line = journal_line(key, reply, delta, self._parts)
        offset, length = self._writer.append_bytes(line)
        self._index[hash(key)] = (self._own, offset, length)
        if delta is not None:
            self._parts.update(delta.parts)

    def close(self) -> None:
        """Flush to disk and close."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, path: Path) -> None:
        if not path.is_file():
            self.damaged.append(DamagedLine(path, 1, "not a file"))
            return
        number = self._number(path)
        for line in read_json_lines(path, self.damaged.append):
            try:
                key, _ = read_journal_line(line.value)
            except ValueError as error:
                self.damaged.append(DamagedLine(path, line.number, str(error)))
                continue
            self._index[hash(key)] = (number, line.offset, line.length)

    def _number(self, path: Path) -> int:
        try:
            return self._files.index(path)
        except ValueError:
            self._files.append(path)
            return len(self._files) - 1


def key_of(line: Fields) -> ReplyKey:
    """The key of a line. Raises `KeyError` for a missing field, `TypeError` for one of another type."""
    for name, kind in _KEY.items():
        if type(line[name]) is not kind:
            raise TypeError(
                f"{name} is {shortened_json(line[name])}, not {'text' if kind is str else 'a whole number'}"
            )
    return ReplyKey(
        line["model"], line["mode"], line["id"], line["repeat"], line["turn"], line["step"], line["request_sha256"]
    )


_KEY = {"model": str, "mode": str, "id": str, "repeat": int, "turn": int, "step": int, "request_sha256": str}
