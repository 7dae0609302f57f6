"""A correct streaming parser of hermes's format, and the same with one defect each. Loaded by name, as a user's is."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from pytest_bfcl.models.chat import ChatJoiner
from pytest_bfcl.models.streams import EventReader

Json = dict[str, Any]
OPEN, CLOSE = "<tool_call>", "</tool_call>"
HEAD = re.compile(r'\s*\{"name": "(\w+)", "arguments": ')


class Right:
    """Deltas in, events out. ``buffer``: what was not told yet; ``begun``: the name of the call has been told."""

    def __init__(self) -> None:
        self.buffer, self.inside, self.begun, self.number = "", False, False, -1

    def __call__(self, deltas: Iterable[str]) -> Iterator[Json]:
        for delta in deltas:
            self.take(delta)
            while (event := self.next()) is not None:
                yield from self.told(event)
        yield from self.end()

    def take(self, delta: str) -> None:
        self.buffer += delta

    def next(self) -> Json | None:
        """The next event that the buffer has, or ``None`` until more arrives."""
        return self.of_call() if self.inside else self.of_text()

    def of_text(self) -> Json | None:
        at = self.buffer.find(OPEN)
        end = at if at >= 0 else len(self.buffer) - held(self.buffer, OPEN)
        text, self.buffer = self.buffer[:end], self.buffer[end:]
        if at >= 0:
            self.buffer, self.inside, self.begun = self.buffer[len(OPEN) :], True, False
            return {"content": text}
        return {"content": text} if text else None

    def of_call(self) -> Json | None:
        if not self.begun:
            head = HEAD.match(self.buffer)
            if head is None:
                return None
            self.begun, self.buffer = True, self.buffer[head.end() :]
            self.number += 1
            return self.first(head[1])
        at = self.buffer.find(CLOSE)
        if at >= 0:
            rest, self.buffer = self.buffer[:at].rstrip().removesuffix("}"), self.buffer[at + len(CLOSE) :]
            self.inside = False
            return self.more(rest)
        kept = len("}\n" + CLOSE)
        if len(self.buffer) <= kept:
            return None
        piece, self.buffer = self.buffer[:-kept], self.buffer[-kept:]
        return self.more(piece)

    def first(self, name: str) -> Json:
        call = {"index": self.number, "id": f"call_{self.number}", "type": "function"}
        return {"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]}

    def more(self, arguments: str) -> Json:
        return {"tool_calls": [{"index": self.number, "function": {"arguments": arguments}}]}

    def told(self, event: Json) -> Iterator[Json]:
        yield event

    def end(self) -> Iterator[Json]:
        if self.buffer and not self.inside:
            yield {"content": self.buffer}


def held(text: str, mark: str) -> int:
    """How much of a text's end may be the beginning of a mark."""
    return next((n for n in range(min(len(mark) - 1, len(text)), 0, -1) if mark.startswith(text[-n:])), 0)


def hears(change: Callable[[str], str]) -> type[Right]:
    """The parser takes another delta."""
    return type("Planted", (Right,), {"take": lambda self, delta: Right.take(self, change(delta))})


def tells(method: str, change: Callable[[Json], Any]) -> type[Right]:
    """The event of ``first`` or ``more`` has another call."""

    def told(self: Right, text: str) -> Json:
        event: Json = getattr(Right, method)(self, text)
        change(event["tool_calls"][0])
        return event

    return type("Planted", (Right,), {method: told})


def arguments(change: Callable[[str], Any]) -> Callable[[Json], Any]:
    return lambda call: call["function"].update(arguments=change(call["function"]["arguments"]))


def hang() -> str:
    while True:
        pass


LosesDelta = hears(lambda delta: "" if delta == '"' else delta)
Doubles = hears(lambda delta: delta * 2 if delta == "o" else delta)
Raises = hears(lambda delta: [delta][delta == "<"])
Hangs = hears(lambda delta: hang() if delta == "<" else delta)
NameTwice = tells("more", lambda call: call["function"].update(name="look_up"))
NoId = tells("first", lambda call: call.pop("id"))
NewId = tells("more", lambda call: call.update(id=f"piece_{len(call['function']['arguments'])}"))
NoType = tells("first", lambda call: call.pop("type"))
NoIndex = tells("more", lambda call: call.pop("index"))
OneIndex = tells("first", lambda call: call.update(index=0))
Objects = tells("more", arguments(lambda text: {} if text == "{}" else text))
HalfCharacters = tells("more", arguments(lambda text: re.sub(r"\\u(d[89a-f]..)", lambda m: chr(int(m[1], 16)), text)))


class OneBracketMore(Right):
    """The end of a call is told again when it comes apart from its mark."""

    def of_call(self) -> Json | None:
        cut = self.buffer in ("}", "}\n", "}}", "}}\n")
        if cut and self.begun:
            return None
        return super().of_call()

    def take(self, delta: str) -> None:
        super().take(delta + "}" if delta.startswith("}") and self.begun and len(delta) < 3 else delta)


class Leaks(Right):
    """Marks that come in two deltas are text."""

    def of_text(self) -> Json | None:
        if OPEN in self.buffer:
            return super().of_text()
        text, self.buffer = self.buffer, ""
        return {"content": text} if text else None


class LosesText(Right):
    """Text in the same delta as a mark is lost."""

    def of_text(self) -> Json | None:
        event = super().of_text()
        return {"content": ""} if event is not None and self.inside else event


class OneADelta(Right):
    """Only one call of a delta is read."""

    def next(self) -> Json | None:
        if not self.inside and self.number >= 0 and not self.fresh:
            return None
        event = super().next()
        self.fresh = self.fresh and self.inside
        return event

    fresh = True

    def take(self, delta: str) -> None:
        self.fresh = True
        super().take(delta)


class Chatty(Right):
    def told(self, event: Json) -> Iterator[Any]:
        yield event if "content" in event else ("call", event)


def with_tools(deltas: Iterable[str], tools: list[Json]) -> list[Json]:
    """Takes the tools, returns chunks."""
    assert {tool["function"]["name"] for tool in tools} == {"look_up", "get_status"}
    return [{"choices": [{"index": 0, "delta": event}]} for event in Right()(deltas)]


async def in_a_loop(deltas: Iterable[str]) -> AsyncIterator[Json]:
    for event in Right()(deltas):
        yield event


def chat_stream(deltas: Iterable[str]) -> Json:
    """Our own reader of event streams, fed with pieces of a stream's bytes."""
    joiner = ChatJoiner()
    reader = EventReader(joiner)
    for delta in deltas:
        reader.feed(delta.encode())
    reader.close()
    message: Json = joiner.body()["choices"][0]["message"]
    calls = [{"index": number, **call} for number, call in enumerate(message.get("tool_calls") or ())]
    return {"content": message["content"], "tool_calls": json.loads(json.dumps(calls))}
