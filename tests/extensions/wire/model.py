"""The model behind the reference server: it obeys dictated calls and texts, within the limits of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class Refusal(Exception):
    """A client's mistake."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass
class Turn:
    role: str
    text: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    call_id: str = ""


@dataclass
class Heard:
    """A request, in no API's words."""

    api: str
    turns: list[Turn]
    tools: list[tuple[str, Json]]
    stream: bool = False
    usage: bool = False
    choice: str = "auto"
    parallel: bool = True
    limit: int | None = None
    stop: list[str] = field(default_factory=list)
    n: int = 1
    logprobs: bool = False
    size: int = 0
    model: str = "m"
    sealed: bool = False
    echo: bool = False
    strict: bool = False


@dataclass
class Message:
    """What the model says: reasoning, text, calls, text."""

    reasoning: str = ""
    before: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    after: str = ""
    finish: str = "stop"
    ids: list[str] = field(default_factory=list)
    tokens: int = 0
    stopped: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(part for part in (self.before, self.after) if part)


ORDER = re.compile(r"^- `([^`]+)` with exactly these arguments: (.*)$", re.MULTILINE)
ORDINALS = ("first", "second", "third", "fourth", "fifth")
TEXTS = {
    "before": re.compile(r"Before any call, write exactly: (.*)$", re.MULTILINE),
    "after": re.compile(r"After the calls, in the same answer, write exactly: (.*)$", re.MULTILINE),
}


def think(heard: Heard) -> Message:
    """Dictated calls, dictated texts, results told, and a call where a tool's name is mentioned."""
    last = heard.turns[-1]
    if last.role == "tool" or "result of the first call once more" in last.text:
        return Message(before=_tell_results(heard.turns))
    said = _obey(heard, last.text)
    if heard.choice == "none":
        return Message(said.reasoning, before="I may not call anything.")
    if heard.choice != "auto":
        wanted = (said.calls or [(heard.tools[0][0], "")])[0][0]
        if heard.choice.startswith("="):
            wanted = heard.choice[1:]
            said.calls = [call for call in said.calls if call[0] == wanted][:1]
        if not any(name == wanted for name, _ in said.calls):
            said = Message(said.reasoning, calls=[(wanted, json.dumps(instance(dict(heard.tools)[wanted])))])
    if not heard.parallel:
        said.calls = said.calls[:1]
    return said


def _tell_results(turns: list[Turn]) -> str:
    calls = next(turn.calls for turn in reversed(turns) if turn.calls)
    results = {turn.call_id: turn.text for turn in turns if turn.role == "tool"}
    return "\n".join(f"{ORDINALS[n]}: {results[call[0]]}" for n, call in enumerate(calls))


def _obey(heard: Heard, text: str) -> Message:
    offered = dict(heard.tools)
    code = re.search(r"The code word is (\w+)\.", "\n".join(turn.text for turn in heard.turns))
    said = Message("I was told to think, so I did." if "Think about it" in text else "")
    for name, arguments in ORDER.findall(text):
        if name in offered:
            arguments = arguments.replace("CODEWORD", code[1]) if code else arguments
            said.calls.append((name, json.dumps(json.loads(arguments), ensure_ascii=False)))
    for which, pattern in TEXTS.items():
        if found := pattern.search(text):
            setattr(said, which, json.loads(found[1]))
    if found := re.search(r"Write exactly this and nothing else: (.*)$", text, re.MULTILINE):
        said.before = json.loads(found[1])
    elif not ORDER.search(text):
        said.calls = [
            (name, json.dumps(instance(schema)))
            for name, schema in heard.tools
            if any(len(word) > 3 and word in text.lower() for word in name.split("_"))
        ]
        said.before = "" if said.calls else "Hello, here I am."
    return said


def instance(schema: Json) -> Any:
    """Some value that satisfies a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: instance(part) for name, part in schema.get("properties", {}).items()}
    return {"integer": schema.get("minimum", 1), "number": 1.5, "boolean": True, "array": []}.get(kind, "some")


def cut(said: Message, heard: Heard, size: int) -> Message:
    """What is left of it within the limit and before a stop sequence; a token has ``size`` characters."""
    for stop in heard.stop:
        said.before, said.after = said.before.split(stop)[0], said.after.split(stop)[0]
    said.finish = "calls" if said.calls else "stop"
    limit = 10**9 if heard.limit is None else heard.limit

    def within(text: str) -> str:
        left = max(0, limit - said.tokens)
        said.tokens += -(-len(text) // size)
        return text[: left * size]

    said.reasoning, said.before = within(said.reasoning), within(said.before)
    said.calls = [(name, within(arguments)) for name, arguments in said.calls if said.tokens < limit]
    said.after = within(said.after)
    if said.tokens > limit:
        said.finish, said.tokens = "length", limit
    return said


def pieces(text: str, size: int) -> Iterator[str]:
    size = max(size, len(text) // 500)  # long texts in longer pieces: the tests have other things to do
    return (text[i : i + size] for i in range(0, len(text), size))
