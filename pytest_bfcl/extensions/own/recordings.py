"""Recordings of people's own tests: what a model answered and what tools gave, found again by what was asked.

A request is known by its content (messages and tools, or a call's name and arguments), never by when it came: requests
that a test makes at once may arrive in any order. The same request made several times has its answers in turn.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_bfcl.extensions.own.pointers import Difference, differences, masked, steps_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.runs import request_digest
from pytest_bfcl.runs.journal import reply_from_dict, reply_to_dict
from pytest_bfcl.runs.lines import DamagedLine, json_line, read_json_lines

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Mode, Reply

Kind = Literal["reply", "result", "tools"]
SHOWN_DIFFERENCES = 2


class StaleRecording(UsageError):
    """The recording has no answer to this request."""


class Identity(NamedTuple):
    """Which line it is: the ``nth`` (from 1) with this key in a test."""

    test: str
    kind: Kind
    key: str
    nth: int


class Matching:
    """What of a request counts; ``ignore`` are JSON pointers to what does not, and is not written down either."""

    def __init__(self, ignore: Sequence[str] = ()) -> None:
        self._pointers = [steps_of(pointer) for pointer in ignore]

    def masked_content(self, content: Parsed) -> Parsed:
        """The content as it is written and compared."""
        shown: Parsed = masked(content, self._pointers) if self._pointers else content
        return shown

    def key(self, content: Parsed) -> str:
        """SHA-256 of what counts."""
        text = json.dumps(self.masked_content(content), sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Recorded:
    """The lines of a file, by test and content. Raises `UsageError` for a broken file."""

    def __init__(self, path: Path, matching: Matching, *, may_be_missing: bool = False) -> None:
        self.path = path
        self.mode: Mode = "fc"
        """How the recorded model was asked."""
        self._found: dict[Identity, Parsed] = {}
        self._contents: dict[Identity, Parsed] = {}
        if not path.is_file():
            if may_be_missing:
                return
            raise UsageError(f"--bfcl-record: there is no file {path}; make it with --bfcl-record {path} --model …")
        for identity, content, value in lines_of(path, matching):
            if str(value.get("model")).endswith("@prompt"):
                self.mode = "prompt"
            self._found[identity] = value
            if content is not None:
                self._contents[identity] = content

    def find(self, identity: Identity) -> Parsed | None:
        """The line of a request."""
        return self._found.get(identity)

    def has(self, test: str) -> bool:
        """Whether anything of a test is recorded."""
        return any(identity.test == test for identity in self._found)

    def nearest(self, identity: Identity, content: Parsed, taken: Collection[Identity]) -> list[Difference] | None:
        """Where the request differs from the most similar recorded one of its test that nobody asked yet."""
        others = [
            list(differences(known, content))
            for each, known in self._contents.items()
            if (each.test, each.kind) == (identity.test, identity.kind) and each not in taken
        ]
        return min(others, key=len, default=None)


def lines_of(path: Path, matching: Matching) -> list[tuple[Identity, Parsed, Parsed]]:
    """The lines of a recording with their identities and contents; raises `UsageError`."""
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
    """What one test asks: taken from the recording, or asked and ``noted``."""

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
        identity, found = self._find("reply", content, digest_of(request))
        if found is not None:
            return reply_from_dict(found["reply"])
        self._require_live(identity, content, f"request {number}", "messages or tools")
        reply = await ask()
        line = {"request": number, "model": model, "request_sha256": digest_of(request)}
        self._keep(identity, {**line, **self._matching.masked_content(content), "reply": reply_to_dict(reply)})
        return reply

    async def result(self, name: str, arguments: Fields, carry: Callable[[], Awaitable[str]], *, always: bool) -> str:
        """What a tool gives; ``always``: it is carried out whatever is recorded. Raises `StaleRecording`."""
        if always:
            return await carry()
        call: Parsed = {"name": name, "arguments": dict(arguments)}
        identity, found = self._find("result", call)
        if found is not None:
            return str(found["result"])
        result = await carry()  # a recording without it: tools are to be had, models may not be
        self._keep(identity, {"call": self._matching.masked_content(call), "result": result})
        return result

    async def tools(
        self, messages: Sequence[Fields], ask: Callable[[], Awaitable[tuple[list[Parsed], dict[str, str]]]]
    ) -> tuple[list[Parsed], dict[str, str]]:
        """What a server lists for a conversation that begins so: documents, and names as they are written → its own."""
        content: Parsed = {"messages": list(messages)}
        identity, found = self._find("tools", content)
        if found is not None:
            return list(found["documents"]), dict(found["names"])
        documents, names = await ask()
        self._keep(identity, {**self._matching.masked_content(content), "documents": documents, "names": names})
        return documents, names

    def _find(self, kind: Kind, content: Parsed, digest: str | None = None) -> tuple[Identity, Parsed | None]:
        key = self._matching.key(content)
        self._counts[kind, key] += 1
        identity = Identity(self.test, kind, key, self._counts[kind, key])
        self.asked.append(identity)
        found = self._recorded.find(identity) if self._recorded is not None else None
        if found is None and digest is not None and self._recorded is not None:
            earlier = identity._replace(key=digest)
            if (found := self._recorded.find(earlier)) is not None:
                self.asked.append(earlier)
        return identity, found

    def _require_live(self, identity: Identity, content: Parsed, what: str, changeable: str) -> None:
        if self._live:
            return
        assert self._recorded is not None
        path = self._recorded.path
        again = f"record it again: pytest {self.test} --model … --bfcl-record {path}"
        if not self._recorded.has(self.test):
            raise StaleRecording(f"{path} has no answer to {what} of {self.test}; {again}")
        found = self._recorded.nearest(identity, self._matching.masked_content(content), self.asked)
        told = [f"{path} is stale: {what} of {self.test} has changed since ({changeable}); {again}"]
        if found:
            told += [f"  {each}" for each in found[:SHOWN_DIFFERENCES]]
            if len(found) > SHOWN_DIFFERENCES:
                told.append(f"  … and {len(found) - SHOWN_DIFFERENCES} more places")
            told.append(f"what may change: --bfcl-record …,ignore={found[0].pointer}")
        raise StaleRecording("\n".join(told))

    def _keep(self, identity: Identity, line: Parsed) -> None:
        if self._note:
            self.noted.append({"test": self.test, "nth": identity.nth, **line})


def digest_of(request: Request) -> str:
    """SHA-256 of messages and tools; another model or temperature does not make a recording stale."""
    return request_digest(request.messages, request.functions, {})


def tidy(path: Path, matching: Matching, asked: Mapping[str, Collection[Identity]], gone: Callable[[str], bool]) -> int:
    """Take out of a file what a later line replaces, what finished tests did not ask, and tests that are ``gone``.

    ``asked``: test → what it asked. The file is replaced as a whole; returns how many lines were taken out.
    """
    lines = lines_of(path, matching)
    last = {identity: number for number, (identity, _, _) in enumerate(lines)}
    kept = [
        value
        for number, (identity, _, value) in enumerate(lines)
        if last[identity] == number
        and not gone(identity.test)
        and (identity.test not in asked or identity in asked[identity.test])
    ]
    if len(kept) < len(lines):
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_bytes(b"".join(map(json_line, kept)))
        os.replace(beside, path)
    return len(lines) - len(kept)


def as_identity(value: Any) -> Identity:
    """An identity that travelled as JSON."""
    test, kind, key, nth = value
    return Identity(test, kind, key, nth)
