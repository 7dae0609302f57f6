"""The record of one conversation: tool calls, replies, steps, turns, transcript.

Checkers decide from (entry, transcript) alone, so everything a verdict or a reader needs is here, and
nothing else. Shapes follow the contract of ``results.jsonl`` (docs/contracts.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pytest_bfcl.json_types import Fields, Parsed


@dataclass(frozen=True, slots=True)
class ProviderState:
    """What a provider sent next to text and calls and wants to see again, unchanged, in later requests.

    ``api`` says whose shapes these are: ``chat``, ``responses`` or ``anthropic``. Of a chat message: the name of the
    field that held the reasoning, its further ``fields``, and per call the further fields of that call (thought
    signatures). ``parts`` are whole: output items of Responses (with encrypted reasoning), content blocks of Anthropic
    (with signatures), or the parts of a chat message whose content was a list.
    """

    api: str
    reasoning_field: str | None = None
    fields: Fields = field(default_factory=dict)
    call_fields: tuple[Fields, ...] = ()
    parts: tuple[Fields, ...] = ()

    def to_dict(self) -> Parsed:
        """As the journal and result lines store it: only what is there."""
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
    """Who answered, by its own words: the model, the state of the server (``system_fingerprint``), the reply's id."""

    model: str | None = None
    fingerprint: str | None = None
    id: str | None = None

    def to_dict(self) -> Parsed:
        """As the journal and result lines store it: only given fields."""
        told = {"model": self.model, "fingerprint": self.fingerprint, "id": self.id}
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def from_dict(cls, values: object) -> Served | None:
        """The inverse of `to_dict`; what is no text is not taken, and ``None`` where nothing is left."""
        if not isinstance(values, Mapping):
            return None
        told = [value if isinstance(value := values.get(n), str) else None for n in ("model", "fingerprint", "id")]
        return cls(*told) if any(told) else None


Mode = Literal["fc", "prompt"]
"""``fc``: native tool calls; ``prompt``: calls written as text."""

Message = Parsed
"""A chat message in the OpenAI shape: ``role``, ``content``, and for calls ``tool_calls`` / ``tool_call_id``."""

OBSERVED = "observed"
"""Where a transcript's ``extra`` keeps what a user's MCP server reported of its state, one value an expectation."""

FAILED_CALLS = "failed_calls"
"""Where a transcript's ``extra`` keeps the texts of calls that a server answered with an error, in order."""

TOUCHED = "touched"
"""Where a transcript's ``extra`` keeps the places of the server's state that changed next to what is expected."""

PLAYED_BEFORE = "played_before"
"""Where a transcript's ``extra`` keeps how many entries its agent's process had played before."""

END_STATE = "end_state"
"""Where a transcript's ``extra`` keeps a digest of the final state, files included."""

SERVED_BY = "served_by"
"""Where a transcript's ``extra`` keeps the server's name in the entry, its title, and a digest of its tools."""

CALLS_A_STEP = 500
"""Calls of one step that are carried out: a model that writes more has run away, its conversation ends and fails."""

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


@lru_cache(maxsize=4096)
def wire_name(name: str) -> str:
    """The function name as providers accept it: dots and other illegal characters become ``_``, 64 characters."""
    return _ILLEGAL.sub("_", name)[:64]


Arguments = dict[Any, Any]
"""Arguments of a call by parameter name; the name is ``None`` where the reference has a null key (``**mapping``)."""


class Call(NamedTuple):
    """One decoded call: the function's name as the reply has it, and the parsed arguments.

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

    ``name`` is the name as it went over the wire, ``arguments`` the raw JSON text (it may be malformed).
    """

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model.

    ``text`` is ``None`` when the provider sent none (which decodes differently from the empty text).
    ``latency_s`` covers the successful attempt only, without our queueing; ``first_token_s`` the time to the first
    token of a streamed one. ``reasoning_tokens`` is the part of ``output_tokens`` that went into reasoning, where usage
    shows. ``problem`` is what its ending speaks against it (`pytest_bfcl.endings`): ``length``, ``content_filter``,
    ``context_overflow``, ``nothing_said``, ``malformed_call``. ``state`` goes back to the provider with the
    conversation; ``served`` is who answered.
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
        """The assistant's message that says it; ids of calls stay as they came, and null content stays null."""
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

    def timed(self, latency_s: float, attempts: int) -> Reply:
        """The reply with the time it took and the attempts it needed."""
        return Reply(
            self.text, self.tool_calls, self.reasoning, self.finish_reason, self.input_tokens, self.output_tokens,
            latency_s, attempts, self.problem, self.reasoning_tokens, self.first_token_s, self.state, self.served,
        )  # fmt: skip

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
"""Single keys that say something else than a function's name, unless an object of arguments follows."""


def may_be_call(name: object, arguments: object) -> bool:
    """Whether ``{name: arguments}`` may be a call, not an object with one field."""
    written = isinstance(arguments, Mapping) or str(arguments).lstrip().startswith("{")
    return isinstance(name, str) and arguments is not None and (written or name not in _NO_FUNCTIONS)


def arguments_text(arguments: object) -> str:
    """Raw JSON text of call arguments; already-parsed objects are written back as JSON."""
    if isinstance(arguments, str):
        return arguments
    import json

    return json.dumps(arguments)


@dataclass(slots=True)
class Step:
    """One model query inside a turn.

    ``calls`` are the decoded calls: call texts such as ``cd(folder='a')`` in conversations that execute calls, `Call`
    for single-turn entries; ``None`` when the reply did not decode (then ``error`` says why). ``results`` are the
    result texts the model saw, one per call. ``native`` is the reply whose native calls ``calls`` are, as they came:
    a judge need not read this reply again.
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
    """One user turn: the messages the user sent and the steps the model took."""

    messages: list[Message] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


class OtherReading(NamedTuple):
    """How stored replies are read according to the reference's table (``leaderboard``) or to the calls in them.

    Only where the two differ, and the other one is what the transcript says.
    """

    by: Literal["leaderboard", "evidence"]
    mode: Mode
    underscore_names: bool
    decoder: str | None = None

    @property
    def followed(self) -> str:
        """Who is followed where this is the other reading."""
        return "evidence" if self.by == "leaderboard" else "leaderboard"

    def fields(self) -> dict[str, object]:
        """What a line shows of it."""
        return {**self._asdict(), "followed": self.followed}

    def of(self, transcript: Transcript) -> Transcript:
        """The conversation read so, to be judged."""
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

    ``decoder`` names the model's own format that texts are read in (`pytest_bfcl.formats`), whatever the mode.
    ``underscore_names`` says names went over the wire with dots replaced. ``messages`` is the list exactly as it stood
    when the last request was sent, plus the last reply. ``forced_quit`` marks a conversation ended by the step limit.
    ``functions`` are the tool documents offered at the start, as sent (with hints). ``decoded`` is true for transcripts
    rebuilt from stored call texts (``trajectory`` replay lines): their ``calls`` are taken as they are.
    ``inference_error`` holds the text of an imported "error during inference" line. ``incomplete`` marks a conversation
    that an error of ours ended: it is kept for people and for its cost, and never judged. ``other_reading``: how the
    conversation would be read, where its own calls and the reference's table of models say different things.
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
