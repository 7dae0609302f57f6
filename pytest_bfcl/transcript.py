"""The record of one conversation: tool calls, replies, steps, turns, transcript.

Checkers decide from (entry, transcript) alone, so this record has everything that a verdict needs. Shapes follow the
contract of ``results.jsonl`` (docs/contracts.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pytest_bfcl.json_types import Fields, Parsed


@dataclass(frozen=True, slots=True)
class ProviderState:
    """What a provider sent with text and calls and needs back, unchanged, in later requests.

    ``api`` names the format: ``chat``, ``responses`` or ``anthropic``. Of a chat message: the name of the field that
    held the reasoning, its further ``fields``, and per call the further fields of that call (thought signatures).
    ``parts`` are whole: output items of Responses (with encrypted reasoning), content blocks of Anthropic (with
    signatures), or the parts of a chat message whose content was a list.
    """

    api: str
    reasoning_field: str | None = None
    fields: Fields = field(default_factory=dict)
    call_fields: tuple[Fields, ...] = ()
    parts: tuple[Fields, ...] = ()

    def to_dict(self) -> Parsed:
        """As the journal and result lines store it: only the fields that are set."""
        found: Parsed = {"api": self.api}
        if self.reasoning_field:
            found["reasoning_field"] = self.reasoning_field
        if self.fields:
            found["fields"] = dict(self.fields)
        if any(self.call_fields):
            found["call_fields"] = [dict(each) for each in self.call_fields]
        if self.parts:
            found["parts"] = [dict(part) for part in self.parts]
        return found

    @classmethod
    def from_dict(cls, values: Fields) -> ProviderState:
        """The inverse of `to_dict`; parts of other shapes are left out."""
        name, fields = values.get("reasoning_field"), values.get("fields")
        return cls(
            str(values.get("api") or "chat"),
            name if isinstance(name, str) else None,
            dict(fields) if isinstance(fields, Mapping) else {},
            _objects(values.get("call_fields")),
            _objects(values.get("parts")),
        )


def _objects(values: object) -> tuple[Fields, ...]:
    listed = values if isinstance(values, list | tuple) else ()
    return tuple(dict(each) for each in listed if isinstance(each, Mapping))


@dataclass(frozen=True, slots=True)
class Served:
    """Who answered, as the server reports it: model, state (``system_fingerprint``) and the reply's id."""

    model: str | None = None
    fingerprint: str | None = None
    id: str | None = None

    def to_dict(self) -> Parsed:
        """As the journal and result lines store it: only given fields."""
        told = {"model": self.model, "fingerprint": self.fingerprint, "id": self.id}
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def from_dict(cls, values: object) -> Served | None:
        """The inverse of `to_dict`; values that are no text are left out; ``None`` if nothing is left."""
        if not isinstance(values, Mapping):
            return None
        told = [value if isinstance(value := values.get(n), str) else None for n in ("model", "fingerprint", "id")]
        return cls(*told) if any(told) else None


Mode = Literal["fc", "prompt"]
"""``fc``: native tool calls; ``prompt``: calls written as text."""

Message = Parsed
"""A chat message in the OpenAI shape: ``role``, ``content``, and for calls ``tool_calls`` / ``tool_call_id``."""

OBSERVED = "observed"
"""Key of a transcript's ``extra``: the state that a user's MCP server reported, one value an expectation."""

FAILED_CALLS = "failed_calls"
"""Key of a transcript's ``extra``: the texts of calls that a server answered with an error, in order."""

TOUCHED = "touched"
"""Key of a transcript's ``extra``: changed places of the server's state that no expectation names."""

PLAYED_BEFORE = "played_before"
"""Key of a transcript's ``extra``: how many entries its agent's process had played before."""

END_STATE = "end_state"
"""Key of a transcript's ``extra``: a digest of the final state, files included."""

SERVED_BY = "served_by"
"""Key of a transcript's ``extra``: the server's name in the entry, its title, and a digest of its tools."""

CALLS_A_STEP = 500
"""Most calls of one step that are executed. A model that writes more fails, and its conversation ends."""

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


@lru_cache(maxsize=4096)
def wire_name(name: str) -> str:
    """The function name in the form that providers accept: other characters become ``_``, at most 64 characters."""
    return _ILLEGAL.sub("_", name)[:64]


Arguments = dict[Any, Any]
"""Arguments of a call by parameter name; the name is ``None`` where the reference has a null key (``**mapping``)."""


class Call(NamedTuple):
    """One decoded call: the function's name in the reply, and the parsed arguments.

    `ToolCall` is the same before its arguments are parsed.
    """

    name: str
    arguments: Arguments

    def as_object(self) -> dict[str, Arguments]:
        """``{name: {parameter: value}}``: how calls are stored and shown."""
        return {self.name: self.arguments}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One native call as the provider delivered it.

    ``name`` is the name in the API's message, ``arguments`` the raw JSON text (it may be malformed).
    """

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model.

    ``text`` is ``None`` when the provider sent none (which decodes differently from the empty text). ``latency_s`` is
    the time of the successful attempt only; ``first_token_s`` the time to the first token of a streamed one.
    ``reasoning_tokens`` is the part of ``output_tokens`` that went into reasoning, where usage shows. ``problem`` is
    what its ending reports (`pytest_bfcl.endings`): ``length``, ``content_filter``, ``context_overflow``,
    ``nothing_said``, ``malformed_call``. ``state`` goes back to the provider with the conversation; ``served`` is who
    answered.
    """

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_s: float | None = None
    attempts: int = 1
    problem: str | None = None
    reasoning_tokens: int | None = None
    first_token_s: float | None = None
    state: ProviderState | None = None
    served: Served | None = None

    @property
    def output(self) -> str | list[dict[str, str]] | None:
        """The raw reply as stored: list of ``{name, arguments}`` when there are calls, else the text."""
        if self.tool_calls:
            return [{"name": c.name, "arguments": c.arguments} for c in self.tool_calls]
        return self.text

    def as_message(self, turn: int, step: int) -> Message:
        """The assistant's message with this reply; call ids and null content stay unchanged."""
        message: Message = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            message["tool_calls"] = [
                {
                    "id": call.id or f"call_{turn}_{step}_{number}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for number, call in enumerate(self.tool_calls)
            ]
        return message

    def ended(self, finish_reason: str | None, problem: str | None) -> Reply:
        """The reply with its ending's word, and the problem that follows from it."""
        return replace(self, finish_reason=finish_reason, problem=problem)

    def timed(self, latency_s: float, attempts: int) -> Reply:
        """The reply with the time it took and the attempts it needed."""
        return replace(self, latency_s=latency_s, attempts=attempts)

    @classmethod
    def from_output(cls, output: Any, **metadata: Any) -> Reply:
        """The inverse of `output`; also takes a list of one-key ``{name: arguments}`` objects and an empty list.

        Raises `TypeError` for any other shape.
        """
        if output is None or isinstance(output, str):
            return cls(text=output, **metadata)
        if not isinstance(output, Sequence):
            raise TypeError(f"a reply is text or a list of calls, not {type(output).__name__}")
        calls = tuple([_tool_call(item) for item in output])
        # An empty list and an empty text decode alike (ast_checker spec §2).
        return cls(text=None if calls else "", tool_calls=calls, **metadata)

    def __repr__(self) -> str:
        body = f"{len(self.tool_calls)} calls" if self.tool_calls else repr((self.text or "")[:60])
        return f"Reply({body})"


def _tool_call(item: object) -> ToolCall:
    if isinstance(item, ToolCall):
        return item
    if not isinstance(item, Mapping):
        raise TypeError("a call is an object {name, arguments}")
    if item.keys() <= _STORED and "name" in item and "arguments" in item:
        return ToolCall(str(item["name"]), arguments_text(item["arguments"]), item.get("id"))
    if len(item) != 1 or not may_be_call(*next(iter(item.items()))):
        raise TypeError("a call is an object {name, arguments}")
    ((name, arguments),) = item.items()
    return ToolCall(str(name), arguments_text(arguments))


_STORED = frozenset(("name", "arguments", "id"))
_NO_FUNCTIONS = frozenset(
    ("answer", "content", "detail", "error", "generated_text", "id", "message", "name", "output", "response", "result",
     "text", "type")
)  # fmt: skip
"""Single keys that do not name a function, unless an object of arguments follows."""


def may_be_call(name: object, arguments: object) -> bool:
    """Whether ``{name: arguments}`` may be a call, not an object with one field."""
    written = isinstance(arguments, Mapping) or str(arguments).lstrip().startswith("{")
    return isinstance(name, str) and arguments is not None and (written or name not in _NO_FUNCTIONS)


def arguments_text(arguments: object) -> str:
    """Raw JSON text of call arguments; parsed objects are serialised."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments)


@dataclass(slots=True)
class Step:
    """One model query inside a turn.

    ``calls`` are the decoded calls: call texts such as ``cd(folder='a')`` in conversations that execute calls, `Call`
    for single-turn entries; ``None`` when the reply did not decode (then ``error`` says why). ``results`` are the
    result texts the model saw, one per call. ``native`` is the reply whose unchanged native calls ``calls`` are, so
    that a judge need not decode it again.
    """

    reply: Reply
    calls: list[str] | list[Call] | None = None
    results: list[str] = field(default_factory=list)
    error: str | None = None
    native: Reply | None = field(default=None, compare=False, repr=False)

    @property
    def call_texts(self) -> list[str]:
        """The calls that are texts; empty for single-turn entries."""
        return [call for call in self.calls or () if isinstance(call, str)]

    @property
    def decoded_calls(self) -> list[Call]:
        """The calls that are name and arguments; empty in conversations that execute calls."""
        return [call for call in self.calls or () if isinstance(call, Call)]


@dataclass(slots=True)
class Turn:
    """One user turn: the user's messages and the model's steps."""

    messages: list[Message] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


class OtherReading(NamedTuple):
    """How stored replies are read according to the reference's table (``leaderboard``) or to the calls in them.

    Only set if the two differ; the transcript has the other one.
    """

    by: Literal["leaderboard", "evidence"]
    mode: Mode
    underscore_names: bool
    decoder: str | None = None

    @property
    def followed(self) -> str:
        """The evidence that the other reading follows."""
        return "evidence" if self.by == "leaderboard" else "leaderboard"

    def fields(self) -> dict[str, object]:
        """Its form in a result line."""
        return {**self._asdict(), "followed": self.followed}

    def of(self, transcript: Transcript) -> Transcript:
        """The conversation in that reading, to be judged."""
        turns = [
            replace(turn, steps=[replace(step, calls=None, native=None) for step in turn.steps])
            for turn in transcript.turns
        ]
        return replace(
            transcript, mode=self.mode, underscore_names=self.underscore_names, decoder=self.decoder, turns=turns,
            other_reading=None,
        )  # fmt: skip


@dataclass(slots=True)
class Transcript:
    """Everything that happened in one conversation with one model about one entry.

    ``decoder`` names the format in which texts are read (`pytest_bfcl.formats`), in any mode. ``underscore_names``:
    names were sent with dots replaced. ``messages`` is the list of the last request, plus the last reply.
    ``forced_quit`` marks a conversation ended by the step limit. ``functions`` are the tool documents offered at the
    start, as sent (with hints). ``decoded`` is true for transcripts rebuilt from stored call texts (``trajectory``
    replay lines): their ``calls`` are used unchanged. ``inference_error`` holds the text of an imported "error during
    inference" line. ``incomplete`` marks a conversation that an infrastructure error ended: it is kept for readers and
    its cost, and never judged. ``other_reading``: a second reading, if its calls contradict the reference's table of
    models.
    """

    entry_id: str
    category: str
    model: str = ""
    mode: Mode = "prompt"
    repeat: int = 1
    underscore_names: bool = False
    turns: list[Turn] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    functions: list[Parsed] = field(default_factory=list)
    forced_quit: bool = False
    decoded: bool = False
    inference_error: str | None = None
    incomplete: bool = False
    started_at: str | None = None
    duration_s: float | None = None
    extra: Parsed = field(default_factory=dict)
    decoder: str | None = None
    other_reading: OtherReading | None = None

    @property
    def steps(self) -> list[Step]:
        """All steps in order, turns flattened."""
        return [step for turn in self.turns for step in turn.steps]

    @property
    def first_reply(self) -> Reply:
        """The only reply of a single-turn conversation; an empty `Reply` if there is none."""
        for turn in self.turns:
            for step in turn.steps:
                return step.reply
        return Reply()

    def __repr__(self) -> str:  # short: the event loop formats results of finished tasks
        return f"<Transcript {self.entry_id} {self.model} {len(self.turns)} turns {len(self.steps)} steps>"
