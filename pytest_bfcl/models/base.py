"""The protocol of a model adapter: one small class, or any callable that a user's fixture returns.

An adapter turns a `Request` into a `Reply`. It raises `AdapterError` if the provider could not be reached. A reply that
was cut, filtered or refused for length is a `Reply` with ``problem`` set, which is the model's failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pytest_bfcl.endpoints.faults import ToolsRefused as ToolsRefused
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.tools.schemas import Style
from pytest_bfcl.transcript import Message, Mode, Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry, FunctionDoc
    from pytest_bfcl.formats.table import Format


@dataclass(slots=True)
class Request:
    """One request: what the model may see, and (only for oracles and replays) its entry.

    ``messages``: OpenAI-shaped chat messages, complete history. ``functions``: the function documents offered, with
    hints, in benchmark types; empty in prompting mode, where the system message describes them. Adapters compile them
    with `pytest_bfcl.tools.schemas.compile_tools`. ``turn`` and ``step`` are zero-based.
    """

    entry: Entry
    messages: list[Message]
    functions: Sequence[FunctionDoc] = ()
    turn: int = 0
    step: int = 0
    repeat: int = 1
    parameters: dict[str, Any] = field(default_factory=dict)
    """``temperature``, ``max_tokens``: only the values to send."""
    query: int = 1
    """Number of this request in the conversation, because prompts of two families grow with it."""


@runtime_checkable
class Model(Protocol):
    """A model under test.

    ``spec`` is the canonical ``provider:name@mode`` text that keys results; ``underscore_names``: the adapter sends
    function names with dots replaced, and checkers expect this form.
    """

    spec: str
    mode: Mode
    underscore_names: bool

    async def generate(self, request: Request) -> Reply:
        """Answer one request. Raises `pytest_bfcl.failures.AdapterError`."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


class Family(Protocol):
    """The parts of a family that a conversation needs. Its implementation is an extension, so it is named here only."""

    @property
    def format(self) -> Format:
        """Its row of the table."""

    def opened(self, messages: Sequence[Message], first: bool) -> list[Message]:
        """A turn's new messages in this family's form (``first``: turn 0, with the system prompt)."""

    def heard(self, text: str, ids: Sequence[str] = (), functions: Sequence[FunctionDoc] = ()) -> list[Message]:
        """A raw reply's messages for the history."""

    def results(self, calls: Sequence[str], results: Sequence[str], ids: Sequence[str] = ()) -> list[Message]:
        """The messages with results of executed calls (call texts) for the model."""


class Joiner:
    """Joins a stream's events into the body that the same reply has without streaming."""

    started = False
    """Whether a first piece of reasoning, text or call has arrived."""
    done = False
    """Set from outside when the stream reports its own end (``[DONE]``)."""

    def wants(self, block: bytes) -> bool:
        """Whether an event, unparsed, needs parsing at all."""
        return True

    def add(self, event: Fields) -> None:
        """One parsed event."""
        raise NotImplementedError

    def body(self) -> Parsed:
        """The whole body. Raises a retryable `AdapterError` ``malformed_body`` if the stream was cut."""
        raise NotImplementedError


class Api:
    """One wire format: the request's body, the answer's reader, and the parts that go back later."""

    name: str
    path: str
    style: Style = "openai"
    streaming: Fields = {"stream": True}
    """Fields of a body that request server-sent events; most APIs put the usage into them by default."""
    joiner: type[Joiner]
    """Of one stream."""
    reasons = False
    """Whether the model reasons, and so takes no temperature."""
    family: Family | None = None
    """The template and format of prompts that are rendered here."""

    def body(self, request: Request, *, tools: bool) -> Parsed:
        """The JSON body without ``model`` and tools; ``tools`` says whether functions are offered natively."""
        raise NotImplementedError

    def read(self, body: object) -> Reply:
        """A parsed answer. Raises `AdapterError` ``malformed_body`` (retryable) for anything else."""
        raise NotImplementedError

    def remember(self, reply: Reply, message: Message) -> Message:
        """The assistant's ``message`` for the conversation, with the parts that the provider needs back."""
        return message


def place(index: object) -> int | None:
    """The index of a piece of a stream, which some servers write as text; ``None`` without one."""
    if isinstance(index, str) and index.isdecimal() and len(index) < 4:
        return int(index)
    return index if type(index) is int else None


def cut_stream(what: str) -> AdapterError:
    """The error of a stream that ended before its reply."""
    return AdapterError(AdapterTrouble.MALFORMED_BODY, f"the stream ended before the reply did: {what}", retryable=True)
