"""What is asked, in no API's words: turns of a conversation, tools, and the switches of a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pytest_bfcl.json_types import Fields, Parsed

if TYPE_CHECKING:
    from pytest_bfcl.extensions.wire.replies import Call, Reply

Role = Literal["system", "developer", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that may be called. ``parameters`` is a JSON Schema, ``None`` when the field is left out."""

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
    """Calls the model made, given back as it made them, with its text and its reasoning where the server had it."""

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
    """What the server gave, given back as it stands: messages (chat), output items (Responses)."""

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
        """The same question in the other form."""
        return replace(self, stream=stream)

    @property
    def thoughtless(self) -> Request:
        """The same conversation without the reasoning of earlier answers; itself where there is none."""
        if not any(isinstance(turn, ToolCalls) and turn.thoughts for turn in self.turns):
            return self
        kept = (replace(turn, thoughts=()) if isinstance(turn, ToolCalls) else turn for turn in self.turns)
        return replace(self, turns=tuple(kept))

    def then(self, *turns: Turn) -> Request:
        """The conversation, continued."""
        return replace(self, turns=(*self.turns, *turns))

    def switches(self, limit_name: str, tool: Callable[[Tool], Parsed], named: Fields) -> Parsed:
        """Tools, choice (``named``: that of one function), parallel calls and limit, as OpenAI's APIs have them."""
        found: Parsed = {"tools": [tool(each) for each in self.tools]} if self.tools else {}
        if self.choice is not None:
            found["tool_choice"] = named if self.choice.startswith("=") else self.choice
        if self.parallel is not None:
            found["parallel_tool_calls"] = self.parallel
        if self.limit is not None:
            found[limit_name] = self.limit
        return found
