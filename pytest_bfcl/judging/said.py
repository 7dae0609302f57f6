"""A model's output in any library's shape as one reply with its ending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_bfcl.endings import TROUBLE, problem_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies import read_reply
from pytest_bfcl.tools.schemas import wire_names
from pytest_bfcl.transcript import Reply, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable

NORMAL = ("stop", "tool_calls")


@dataclass(frozen=True, slots=True)
class Said:
    """One reply. ``failure`` says why it is none: the provider cut it off, or an error replaces it."""

    reply: Reply
    failure: str | None = None

    def named_for(self, functions: Iterable[Fields]) -> Reply:
        """The reply with function names as they are sent, in any spelling of the model."""
        if not self.reply.tool_calls:
            return self.reply
        wires = {documented: wire for wire, documented in wire_names(functions).items()}
        calls = tuple(replace(call, name=wires.get(call.name, call.name)) for call in self.reply.tool_calls)
        return replace(self.reply, tool_calls=calls)

    def to_json(self) -> Parsed:
        """JSON-able fields."""
        reply = self.reply
        return {
            "text": reply.text,
            "calls": [[call.name, call.arguments, call.id] for call in reply.tool_calls],
            "reasoning": reply.reasoning,
            "ending": reply.finish_reason,
            "problem": reply.problem,
            "failure": self.failure,
        }

    @classmethod
    def from_json(cls, given: Fields) -> Said:
        """The reply again."""
        calls = tuple(ToolCall(*each) for each in given["calls"])
        reply = Reply(
            given["text"], calls, given["reasoning"], finish_reason=given["ending"], problem=given["problem"]
        )  # fmt: skip
        return cls(reply, given["failure"])


def read(said: object, *, raw_arguments: Sequence[str | None] | None = None, ending: str | None = None) -> Said:
    """A model's output: text, calls, messages and completions of OpenAI (chat, Responses), Anthropic, litellm,
    LangChain, pydantic-ai, smolagents, LlamaIndex, Gemini and Inspect, as objects or dicts.

    ``raw_arguments``: the argument text of each call as the model wrote it, in order (``None``: as the shape has it).
    Broken arguments stay broken. ``ending``: the API's word for how the reply ended; required for shapes without one,
    because a cut reply is no answer.

    Raises `UsageError` (`UnknownShape`) for an unknown shape, a missing ending, or a wrong number of raw arguments.
    """
    given = whole(said, raw_arguments=raw_arguments, ending=ending)
    if given.failure is None and given.reply.finish_reason is None and given.reply.problem is None:
        raise UsageError(f"{type(said).__name__} has no ending: pass ending='stop', or the finish reason of the API")
    return given


def whole(said: object, *, raw_arguments: Sequence[str | None] | None = None, ending: str | None = None) -> Said:
    """`read` for the output of the caller's own policy: a shape without an ending counts as complete."""
    reply = read_reply(said)
    if raw_arguments is not None:
        reply = replace(reply, tool_calls=_with_raw(reply.tool_calls, raw_arguments))
    if ending is not None:
        reply = replace(reply, finish_reason=ending, problem=None)
    problem = problem_of(reply)
    if problem == TROUBLE:
        return Said(reply, f"the reply ended with {reply.finish_reason!r}, which is not a normal ending")
    return Said(replace(reply, problem=problem))


def _with_raw(calls: Sequence[ToolCall], raw: Sequence[str | None]) -> tuple[ToolCall, ...]:
    if len(calls) != len(raw):
        raise UsageError(f"raw_arguments has {len(raw)} texts for {len(calls)} calls: give one for each call, or None")
    pairs = zip(calls, raw, strict=True)
    return tuple(call if text is None else replace(call, arguments=text) for call, text in pairs)
