"""Recordings of users' own tests: a model's answers and tools' results, found by request.

A request is identified by its content (messages and tools, or a call's name and arguments), never by its time.
Concurrent requests may arrive in any order, and a repeated request gets its answers in order. JSON pointers (RFC 6901)
name ignored parts and differences; ``*`` is every item.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Model, Request
from pytest_bfcl.redaction import HIDDEN, discreet, without_keys
from pytest_bfcl.runs.journal import reply_from_dict, reply_to_dict
from pytest_bfcl.runs.lines import DamagedLine, json_line, read_json_lines, write_atomically

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Mode, Reply


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
        """The value with `HIDDEN` at the places of ``steps``; ``found`` receives the old values.

        JSON texts (results of tools, arguments of calls) are searched, too.
        """
        if not steps:
            self.led = True
            found(value)
            return HIDDEN
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
        return discreet(cast("Parsed", without_keys(line)), self._secrets)

    def _learn(self, value: Any) -> None:
        token = isinstance(value, str) and SHORTEST_TOKEN <= len(value) <= LONGEST_TOKEN and value != HIDDEN
        if token and not re.search(r"\s", value):
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


class Line(NamedTuple):
    """A recorded line; ``content`` is the part by which it is found."""

    identity: Identity
    content: Parsed
    value: Parsed


class Recorded:
    """The lines of a file, by test and content. Raises `UsageError` for a broken file."""

    def __init__(self, path: Path, matching: Matching, *, may_be_missing: bool = False) -> None:
        if not path.is_file() and not may_be_missing:
            raise UsageError(f"--bfcl-record: there is no file {path}; make it with --bfcl-record {path} --model …")
        lines = lines_of(path, matching) if path.is_file() else []
        self.path = path
        self.mode: Mode = "prompt" if any(str(each.value.get("model")).endswith("@prompt") for each in lines) else "fc"
        """The settings of the recorded model."""
        self._lines = {line.identity: line for line in lines}
        self._by_content = {line.identity[1:]: line for line in lines}

    def find(self, identity: Identity) -> Line | None:
        """The line of a request, else one with its content from another test: a renamed one."""
        return self._lines.get(identity) or self._by_content.get(identity[1:])

    def of_test(self, test: str) -> list[Line]:
        """The lines of a test."""
        return [line for line in self._lines.values() if line.identity.test == test]


def lines_of(path: Path, matching: Matching) -> list[Line]:
    """The lines of a recording with their identities and contents. Raises `UsageError`."""
    found: list[Line] = []
    damaged: list[DamagedLine] = []
    for number, _, _, value in read_json_lines(path, damaged.append):
        try:
            test, nth = str(value["test"]), int(value.get("nth", 0))
            kind: Kind = "reply" if "reply" in value else "result" if "result" in value else "tools"
            content = dict(value["call"]) if kind == "result" else {"messages": value["messages"]}
            if kind == "reply":
                content["tools"] = value["tools"]
                reply_from_dict(value["reply"])
            found.append(Line(Identity(test, kind, matching.key(content), nth), content, value))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"{path}, line {number}: not a recorded answer: {error}") from None
    if damaged:
        raise UsageError(f"{path}, line {damaged[0].line}: {damaged[0].why}")
    return found


class Tape:
    """The requests of one test: replayed from the recording, or sent and ``noted``."""

    def __init__(self, test: str, recorded: Recorded | None, matching: Matching, *, live: bool, note: bool) -> None:
        self.test = test
        self.noted: list[Parsed] = []
        self.asked: list[Identity] = []
        self._recorded, self._matching, self._live, self._note = recorded, matching, live, note
        self._counts: Counter[tuple[Kind, str]] = Counter()
        self._requests = 0

    async def reply(self, request: Request, model: Model) -> Reply:
        """The answer to a request. Raises `StaleRecording`."""
        self._requests += 1
        number = self._requests
        content: Parsed = {"messages": list(request.messages), "tools": list(request.functions)}
        identity, found = self._find("reply", content)
        if found is not None:
            return reply_from_dict(found["reply"])
        if not self._live:
            raise self._stale(identity, content, f"request {number} of {self.test}")
        reply = await model.generate(request)
        self._keep(identity, {"request": number, "model": model.spec, **content, "reply": reply_to_dict(reply)})
        return reply

    async def result(self, name: str, arguments: Fields, carry: Callable[[], Awaitable[str]]) -> str:
        """A tool's result."""
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
        line = None if self._recorded is None else self._recorded.find(identity)
        self.asked.append(identity if line is None else line.identity)
        return identity, None if line is None else line.value

    def _stale(self, identity: Identity, content: Parsed, what: str) -> StaleRecording:
        """What has changed since, by the most similar unused line of the test, and the two ways out."""
        assert self._recorded is not None
        path, known = self._recorded.path, self._recorded.of_test(self.test)
        model = next((str(line.value["model"]) for line in known if "model" in line.value), "…")
        again = f"pytest {shlex.quote(self.test)} --model {shlex.quote(model)} {self._matching.option('', path)}"
        if not known:
            return StaleRecording(f"{path} has no answer to {what}; record it:\n  {again}")
        shown = self._matching.shown(content)
        unused = [line for line in known if line.identity.kind == identity.kind and line.identity not in self.asked]
        found = min((list(differences(line.content, shown)) for line in unused), key=len, default=[])
        told = [f"{path} is stale: {what} has changed since (messages or tools)"]
        count = len(found) if len(found) <= SHOWN_DIFFERENCES else SHOWN_DIFFERENCES - 1
        told += [f"  {each}" for each in found[:count]]
        if len(found) > count:
            told.append(f"  … and {len(found) - count} more places")
        told.append(f"record it again: {again}")
        if found:
            told.append(f"or let it change: {self._matching.option('replay', path, found[0].pointer)}")
        return StaleRecording("\n".join(told))

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
    last = {line.identity: number for number, line in enumerate(lines)}
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
    write_atomically(path, b"".join(json_line(value) for _, value in kept))
    return len(lines) - len(kept)
