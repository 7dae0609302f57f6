"""What a wire format has to offer."""

from __future__ import annotations

from typing import Protocol

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.tools.schemas import Style
from pytest_bfcl.transcript import Message, Reply
from pytest_bfcl.troubles import AdapterTrouble


class Joiner(Protocol):
    """Puts a stream's events together to the body that the same reply has without streaming."""

    started: bool
    """Whether a first piece of reasoning, text or call has come."""
    done: bool
    """Set from outside when the stream says itself that it is over (``[DONE]``)."""

    def wants(self, block: bytes) -> bool:
        """Whether an event, as it came over the wire, has to be parsed at all."""
        ...

    def add(self, event: Fields) -> None:
        """One parsed event."""
        ...

    def body(self) -> Parsed:
        """The whole. Raises a retryable `AdapterError` ``malformed_body`` when the stream was cut."""
        ...


class Api(Protocol):
    """One wire format: what is sent for a request, how an answer is read, what of it goes back later."""

    name: str
    path: str
    style: Style

    def body(self, request: Request, *, tools: bool) -> Parsed:
        """The JSON body without ``model`` and tools; ``tools`` says whether functions are offered natively."""
        ...

    def streaming(self) -> Parsed:
        """What a body needs for its answer to come as server-sent events."""
        ...

    def read(self, body: object) -> Reply:
        """A parsed answer. Raises `AdapterError` ``malformed_body`` (retryable) for anything else."""
        ...

    def joiner(self) -> Joiner:
        """For one stream."""
        ...

    def remember(self, reply: Reply, message: Message) -> Message:
        """The assistant's ``message`` as it stays in the conversation, with what the provider wants back."""
        ...


def place(index: object) -> int | None:
    """The index of a piece of a stream, which some servers write as text; ``None`` for none."""
    if isinstance(index, str) and index.isdecimal() and len(index) < 4:
        return int(index)
    return index if type(index) is int else None


def cut_stream(what: str) -> AdapterError:
    """The error of a stream that ended before its reply did."""
    return AdapterError(AdapterTrouble.MALFORMED_BODY, f"the stream ended before the reply did: {what}", retryable=True)
