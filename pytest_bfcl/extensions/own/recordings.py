"""Recordings of users' own tests: a model's answers and tools' results, found by request.

A request is identified by its content (messages and tools, or a call's name and arguments), never by its time.
Concurrent requests may arrive in any order, and a repeated request gets its answers in order. JSON pointers (RFC 6901)
name ignored parts and differences; ``*`` is every item.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.redaction import hide, without_keys
from pytest_bfcl.runs.journal import reply_from_dict, reply_to_dict
from pytest_bfcl.runs.lines import DamagedLine, json_line, read_json_lines

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Mode, Reply


IGNORED = "(ignored)"
"""Replaces an ignored value."""
SHOWN = 60


class Difference(NamedTuple):
    """One place where two values differ; a missing value is ``None``."""

    pointer: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: recorded {_value_text(self.before)}, now {_value_text(self.after)}"


ROOTS = ("messages", "tools", "name", "arguments", "reply", "result")
"""The parts of a recorded line with which a pointer may begin."""


class Pointer:
    """One pointer, and whether it has matched anything yet."""

    def __init__(self, text: str) -> None:
        """Raises `UsageError` for an invalid pointer, or one that begins with no part of a recording."""
        if not text.startswith("/") or len(text) < 2:
            raise UsageError(f"{text!r} is no JSON pointer: write it like /messages/0/content, * for every item")
        self.text = text
        self.steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))
        self.led = False
        if self.steps[0] not in ROOTS:
            raise UsageError(f"{text!r} leads nowhere in a recording; it begins with one of /{', /'.join(ROOTS)}")

    def masked(self, value: Any, steps: Sequence[str], found: Callable[[Any], None]) -> Any:
        """The value with `IGNORED` at the places of ``steps``; ``found`` receives the old values.

        JSON texts (results of tools, arguments of calls) are searched, too.
        """
        if not steps:
            self.led = True
            found(value)
            return IGNORED
        first, rest = steps[0], steps[1:]
        if isinstance(value, dict):
            return {k: self.masked(v, rest, found) if first in ("*", str(k)) else v for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.masked(v, rest, found) if first in ("*", str(n)) else v for n, v in enumerate(value)]
        if isinstance(value, str) and value[:1] in ("{", "["):
            with contextlib.suppress(ValueError, RecursionError):
                inside = self.masked(whole := json.loads(value), steps, found)
                return value if inside == whole else json.dumps(inside, ensure_ascii=False)
        return value


def differences(before: Any, after: Any, pointer: str = "") -> Iterator[Difference]:
    """Every place where two JSON values differ, in order."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            step = str(key).replace("~", "~0").replace("/", "~1")
            yield from differences(before.get(key), after.get(key), f"{pointer}/{step}")
    elif isinstance(before, list) and isinstance(after, list):
        for number in range(max(len(before), len(after))):
            old, new = (side[number] if number < len(side) else None for side in (before, after))
            yield from differences(old, new, f"{pointer}/{number}")
    elif before != after:
        yield Difference(pointer, before, after)


def _value_text(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


Kind = Literal["reply", "result", "tools"]
SHOWN_DIFFERENCES = 2
SHORTEST_TOKEN, LONGEST_TOKEN = 8, 4_096
"""Length from which a text without spaces is hidden everywhere after a pointer matched it."""


class StaleRecording(UsageError):
    """The recording has no answer to this request."""


class Identity(NamedTuple):
    """The identity of a line: the ``nth`` (from 1) with this key in a test."""

    test: str
    kind: Kind
    key: str
    nth: int


class Matching:
    """The parts of a line that are compared and stored. ``ignore`` are JSON pointers to parts that are not; a token at
    such a place is hidden everywhere. Texts shaped like a key are always hidden.
    """

    def __init__(self, ignore: Sequence[str] = ()) -> None:
        self.pointers = [Pointer(text) for text in ignore]
        self._secrets: set[str] = set()

    def shown(self, line: Parsed) -> Parsed:
        """The line, or a part of it, as it is stored and compared."""
        for pointer in self.pointers:
            line = pointer.masked(line, pointer.steps, self._learn)
        found: Parsed = without_keys(line)
        return _without(found, self._secrets) if self._secrets else found

    def _learn(self, value: Any) -> None:
        if isinstance(value, str) and SHORTEST_TOKEN <= len(value) <= LONGEST_TOKEN and not re.search(r"\s", value):
            self._secrets.add(value)

    def key(self, content: Parsed) -> str:
        """SHA-256 of the compared parts."""
        text = json.dumps(self.shown(content), sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def option(self, mode: str, path: Path, *more: str) -> str:
        """The same ``--bfcl-record`` with further pointers, as a word of a command line."""
        parts = [f"{mode}={path}" if mode else str(path)]
        parts += [f"ignore={text}" for text in (*(pointer.text for pointer in self.pointers), *more)]
        return f"--bfcl-record {shlex.quote(','.join(parts))}"


def _without(value: Any, secrets: set[str]) -> Any:
    if isinstance(value, str):
        return hide(value, secrets, IGNORED)
    if isinstance(value, list | tuple):
        return [_without(each, secrets) for each in value]
    return {name: _without(each, secrets) for name, each in value.items()} if isinstance(value, dict) else value


class Recorded:
    """The lines of a file, by test and content. Raises `UsageError` for a broken file."""

    def __init__(self, path: Path, matching: Matching, *, may_be_missing: bool = False) -> None:
        self.path = path
        self.mode: Mode = "fc"
        """The settings of the recorded model."""
        self._found: dict[Identity, Parsed] = {}
        self._contents: dict[Identity, Parsed] = {}
        self._by_content: dict[tuple[Kind, str, int], tuple[Identity, Parsed]] = {}
        if not path.is_file():
            if may_be_missing:
                return
            raise UsageError(f"--bfcl-record: there is no file {path}; make it with --bfcl-record {path} --model …")
        for identity, content, value in lines_of(path, matching):
            if str(value.get("model")).endswith("@prompt"):
                self.mode = "prompt"
            self._found[identity] = value
            self._by_content[identity[1:]] = identity, value
            if content is not None:
                self._contents[identity] = content

    def find(self, identity: Identity) -> Parsed | None:
        """The line of a request."""
        return self._found.get(identity)

    def find_elsewhere(self, identity: Identity) -> tuple[Identity, Parsed] | None:
        """The line with this content from another test: a renamed one."""
        return self._by_content.get(identity[1:])

    def model_of(self, test: str) -> str:
        """The model that answered a test; ``…`` if unknown."""
        lines = (value for identity, value in self._found.items() if identity.test == test and "model" in value)
        return str(next((value["model"] for value in lines), "…"))

    def has(self, test: str) -> bool:
        """Whether a test has recorded lines."""
        return any(identity.test == test for identity in self._found)

    def nearest(self, identity: Identity, content: Parsed, taken: Collection[Identity]) -> list[Difference] | None:
        """The request's differences from the most similar unused line of its test."""
        others = [
            list(differences(known, content))
            for each, known in self._contents.items()
            if (each.test, each.kind) == (identity.test, identity.kind) and each not in taken
        ]
        return min(others, key=len, default=None)


def lines_of(path: Path, matching: Matching) -> list[tuple[Identity, Parsed, Parsed]]:
    """The lines of a recording with their identities and contents. Raises `UsageError`."""
    found: list[tuple[Identity, Parsed, Parsed]] = []
    damaged: list[DamagedLine] = []
    for line in read_json_lines(path, damaged.append):
        value = line.value
        try:
            test, nth = str(value["test"]), int(value.get("nth", 0))
            kind: Kind = "reply" if "reply" in value else "result" if "result" in value else "tools"
            content = _content(value, kind)
            if kind == "reply":
                reply_from_dict(value["reply"])
            found.append((Identity(test, kind, matching.key(content), nth), content, value))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"{path}, line {line.number}: not a recorded answer: {error}") from None
    if damaged:
        raise UsageError(f"{path}, line {damaged[0].line}: {damaged[0].why}")
    return found


def _content(value: Fields, kind: Kind) -> Parsed:
    if kind == "result":
        return dict(value["call"])
    return {"messages": value["messages"], **({"tools": value["tools"]} if kind == "reply" else {})}


class Tape:
    """The requests of one test: replayed from the recording, or sent and ``noted``."""

    def __init__(self, test: str, recorded: Recorded | None, matching: Matching, *, live: bool, note: bool) -> None:
        self.test = test
        self.noted: list[Parsed] = []
        self.asked: list[Identity] = []
        self._recorded, self._matching, self._live, self._note = recorded, matching, live, note
        self._counts: Counter[tuple[Kind, str]] = Counter()
        self._requests = 0

    async def reply(self, request: Request, model: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """The answer to a request. Raises `StaleRecording`."""
        self._requests += 1
        number = self._requests
        content: Parsed = {"messages": list(request.messages), "tools": list(request.functions)}
        identity, found = self._find("reply", content)
        if found is not None:
            return reply_from_dict(found["reply"])
        self._require_live(identity, content, f"request {number}", "messages or tools")
        reply = await ask()
        self._keep(identity, {"request": number, "model": model, **content, "reply": reply_to_dict(reply)})
        return reply

    async def result(self, name: str, arguments: Fields, carry: Callable[[], Awaitable[str]], *, always: bool) -> str:
        """A tool's result; ``always``: the call is executed even if it is recorded. Raises `StaleRecording`."""
        if always:
            return await carry()
        call: Parsed = {"name": name, "arguments": dict(arguments)}
        identity, found = self._find("result", call)
        if found is not None:
            return str(found["result"])
        result = await carry()  # a recording without it: tools are to be had, models may not be
        self._keep(identity, {"call": call, "result": result})
        return result

    async def tools(
        self, messages: Sequence[Fields], ask: Callable[[], Awaitable[tuple[list[Parsed], dict[str, str]]]]
    ) -> tuple[list[Parsed], dict[str, str]]:
        """A server's list for a conversation with this start: documents, and written names → the server's own."""
        content: Parsed = {"messages": list(messages)}
        identity, found = self._find("tools", content)
        if found is not None:
            return list(found["documents"]), dict(found["names"])
        documents, names = await ask()
        self._keep(identity, {**content, "documents": documents, "names": names})
        return documents, names

    def _find(self, kind: Kind, content: Parsed) -> tuple[Identity, Parsed | None]:
        key = self._matching.key(content)
        self._counts[kind, key] += 1
        identity = Identity(self.test, kind, key, self._counts[kind, key])
        if self._recorded is None:
            self.asked.append(identity)
            return identity, None
        found = self._recorded.find(identity)
        if found is None and (renamed := self._recorded.find_elsewhere(identity)) is not None:
            self.asked.append(renamed[0])
            return identity, renamed[1]
        self.asked.append(identity)
        return identity, found

    def _require_live(self, identity: Identity, content: Parsed, what: str, changeable: str) -> None:
        if self._live:
            return
        assert self._recorded is not None
        path, model = self._recorded.path, self._recorded.model_of(self.test)
        again = f"pytest {shlex.quote(self.test)} --model {shlex.quote(model)} {self._matching.option('', path)}"
        if not self._recorded.has(self.test):
            raise StaleRecording(f"{path} has no answer to {what} of {self.test}; record it:\n  {again}")
        found = self._recorded.nearest(identity, self._matching.shown(content), self.asked)
        told = [f"{path} is stale: {what} of {self.test} has changed since ({changeable})"]
        if found:
            shown = len(found) if len(found) <= SHOWN_DIFFERENCES else SHOWN_DIFFERENCES - 1
            told += [f"  {each}" for each in found[:shown]]
            if len(found) > shown:
                told.append(f"  … and {len(found) - shown} more places")
        told.append(f"record it again: {again}")
        if found:
            told.append(f"or let it change: {self._matching.option('replay', path, found[0].pointer)}")
        raise StaleRecording("\n".join(told))

    def _keep(self, identity: Identity, line: Parsed) -> None:
        if self._note:
            call = line.pop("call", None)
            shown = self._matching.shown({**(call or {}), **line})
            if call is not None:
                shown = {"call": {name: shown.pop(name) for name in call}, **shown}
            self.noted.append({"test": self.test, "nth": identity.nth, **shown})


def tidy(
    path: Path,
    matching: Matching,
    asked: Mapping[str, Collection[Identity]],
    gone: Callable[[str], bool],
    mode: str,
) -> int:
    """Sort a file, remove lines that later ones replace, and rename lines of renamed tests.

    ``asked``: finished test → its requests; ``gone``: whether a test no longer exists. A new recording removes requests
    that finished tests did not send, ``prune`` also those of missing tests. The file is replaced atomically; returns
    the number of removed lines.
    """
    lines = lines_of(path, matching)
    last = {identity: number for number, (identity, _, _) in enumerate(lines)}
    heirs = {each: test for test, identities in asked.items() for each in identities if each.test != test}
    kept: list[tuple[Identity, Parsed]] = []
    for number, (identity, _, value) in enumerate(lines):
        if last[identity] != number:
            continue
        if identity in heirs and gone(identity.test):
            value = {**value, "test": heirs[identity]}
            identity = identity._replace(test=heirs[identity])
        else:
            unasked = identity not in asked.get(identity.test, (identity,))
            if (mode != "new" and unasked) or (mode == "prune" and gone(identity.test)):
                continue
        kept.append((identity, value))
    kept.sort(key=lambda each: (each[0].test, each[0].kind, len(each[1].get("messages", ())), *each[0][2:]))
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(b"".join(json_line(value) for _, value in kept))
    os.replace(beside, path)
    return len(lines) - len(kept)


def as_identity(value: Any) -> Identity:
    """An identity from its JSON form."""
    test, kind, key, nth = value
    return Identity(test, kind, key, nth)
