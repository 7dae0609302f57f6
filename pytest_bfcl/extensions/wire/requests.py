"""The request in neutral words: turns of a conversation, tools, parameters, and orders without choices.

Every argument is dictated as JSON on one line, so that any difference in the answer needs an explanation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pytest_bfcl.extensions.wire.differences import Wanted
from pytest_bfcl.extensions.wire.replies import Call, Reply, loads
from pytest_bfcl.json_types import Fields, Parsed

Role = Literal["system", "developer", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that may be called. ``parameters`` is a JSON Schema, ``None`` leaves the field out."""

    name: str
    parameters: Fields | None = None
    description: str = ""
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message: one text, or a list of texts that are sent as content parts."""

    role: Role
    text: str | Sequence[str]


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The model's calls, sent back unchanged, with its text and reasoning if there are any."""

    calls: tuple[Call, ...]
    text: str = ""
    thoughts: tuple[Fields, ...] = ()

    @classmethod
    def by(cls, reply: Reply) -> ToolCalls:
        """The calls of an answer."""
        return cls(reply.calls, reply.text, reply.thoughts)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A call's result: one text, or a list of texts that are sent as content parts."""

    call_id: str
    content: str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The server's items, sent back unchanged: messages (chat), output items (Responses)."""

    items: tuple[Fields, ...]


Turn = Message | ToolCalls | ToolResult | Verbatim


@dataclass(frozen=True, slots=True)
class Request:
    """One request. ``choice`` is ``none``, ``auto``, ``required`` or ``=NAME`` for one function; ``None``: not sent."""

    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...]
    stream: bool = False
    choice: str | None = None
    parallel: bool | None = None
    limit: int | None = None
    extra: Fields = field(default_factory=dict)

    @classmethod
    def of(cls, text: str, *tools: Tool, **more: Any) -> Request:
        """One message of the user."""
        return cls((Message("user", text),), tools, **more)

    def streamed(self, stream: bool = True) -> Request:
        """The same request in the other form."""
        return replace(self, stream=stream)

    @property
    def thoughtless(self) -> Request:
        """The same conversation without the reasoning of earlier answers; unchanged without any."""
        if not any(isinstance(turn, ToolCalls) and turn.thoughts for turn in self.turns):
            return self
        kept = (replace(turn, thoughts=()) if isinstance(turn, ToolCalls) else turn for turn in self.turns)
        return replace(self, turns=tuple(kept))

    def then(self, *turns: Turn) -> Request:
        """The conversation, continued."""
        return replace(self, turns=(*self.turns, *turns))

    def switches(self, limit_name: str, tool: Callable[[Tool], Parsed], named: Fields) -> Parsed:
        """Tools, choice (``named``: of one function), parallel calls and limit, in the form of OpenAI's APIs."""
        found: Parsed = {"tools": [tool(each) for each in self.tools]} if self.tools else {}
        if self.choice is not None:
            found["tool_choice"] = named if self.choice.startswith("=") else self.choice
        if self.parallel is not None:
            found["parallel_tool_calls"] = self.parallel
        if self.limit is not None:
            found[limit_name] = self.limit
        return found


def content_of(said: str | Sequence[str], kind: str) -> str | list[Parsed]:
    """A text as it is, several as content parts of this type."""
    return said if isinstance(said, str) else [{"type": kind, "text": text} for text in said]


# -- how checks talk to a model --------------------------------------------------------------------------------------


def schema(properties: Fields, **more: Any) -> Parsed:
    """An object schema in which every property is required."""
    return {"type": "object", "properties": dict(properties), "required": list(properties), **more}


TEXT: Parsed = {"type": "string"}
NOTE = Tool("save_note", schema({"text": {"type": "string", "description": "The text to keep."}}), "Keeps a text.")
PING = Tool("ping_server", schema({"host": {"type": "string"}}), "Asks a server whether it is there.")
LOOK_UP = Tool("look_up", schema({"key": {"type": "string"}}), "Looks a key up and returns what is stored under it.")
NOTHING = Tool("get_status", {"type": "object", "properties": {}}, "Tells the status. Takes no arguments.")
HELLO = "Say hello to me in one short sentence."
"""A request that needs no call: a call was forced."""
WRITE = "Write exactly this and nothing else: "


def note(text: str) -> Wanted:
    """A dictated call of `NOTE`."""
    return Wanted(NOTE.name, {"text": text})


def line(wanted: Wanted) -> str:
    """A call in the form of an order."""
    return f"`{wanted.name}` with exactly these arguments: {json.dumps(wanted.arguments, ensure_ascii=False)}"


def order(
    wanted: Sequence[Wanted], *, before: str = "", after: str = "", think: bool = False, repeat_result: bool = False
) -> str:
    """The user's message that dictates calls, and texts before and after them."""
    said = ["Think about it first."] if think else []
    if before:
        said.append(f"Before any call, write exactly: {json.dumps(before, ensure_ascii=False)}")
    if len(wanted) == 1:
        said.append("Call this function once:")
    else:
        said.append(f"Make these {len(wanted)} function calls, all of them in one answer and in this order:")
    said += [f"- {line(each)}" for each in wanted]
    if after:
        said.append(f"After the calls, in the same answer, write exactly: {json.dumps(after, ensure_ascii=False)}")
    said.append("Copy the arguments character by character.")
    if repeat_result:
        said.append('When the results are there, write "first:" and the first call\'s result word for word, then')
        said.append('"second:" and the second call\'s result, and so on, in the order of the calls.')
    return "\n".join(said)


def dictate(*wanted: Wanted, tools: Sequence[Tool] = (NOTE,), **more: Any) -> Request:
    """One order to make calls; ``before``, ``after``, ``think``, ``repeat_result`` shape it, the rest is for the
    request.
    """
    shaping = {key: more.pop(key) for key in ("before", "after", "think", "repeat_result") if key in more}
    return Request.of(order(wanted, **shaping), *tools, **more)


def write(text: str, *, tools: Sequence[Tool] = (NOTE,), think: bool = False, **more: Any) -> Request:
    """One order to write a text and call nothing."""
    said = f"Call no function. {WRITE}{json.dumps(text, ensure_ascii=False)}"
    return Request.of("Think about it first.\n" * think + said, *tools, **more)


def message_text(request: Request) -> str:
    """The text that an order by `write` dictates; else empty."""
    turn = request.turns[-1]
    _, told, text = (
        turn.text.rpartition(WRITE) if isinstance(turn, Message) and isinstance(turn.text, str) else ("", "", "")
    )
    found = loads(text) if told else None
    return found if isinstance(found, str) else ""


CODE_WORD = f"Call this function once:\n- {line(note('CODEWORD'))}\nWrite the code word you were told for CODEWORD."
"""An order that needs a word from another place."""


def documents(tools: Sequence[Tool]) -> list[Fields]:
    """Tools in the decoders' form."""
    return [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]
