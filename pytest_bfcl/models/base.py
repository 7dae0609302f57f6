"""What a model adapter is: one small class, or any callable a user's fixture returns.

An adapter turns a `Request` into a `Reply`. It raises `AdapterError` when the provider could not be reached; a
reply the provider cut, filtered or refused for length is a `Reply` with ``problem`` set (the model's, not ours).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pytest_bfcl.endpoints.errors import ToolsRefused as ToolsRefused
from pytest_bfcl.transcript import Message, Mode, Reply

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry, FunctionDoc


@dataclass(slots=True)
class Request:
    """One query: what the model may see, and (for oracles and replays only) which entry it belongs to.

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
    """``temperature``, ``max_tokens``: only what is to be sent."""
    query: int = 1
    """Number of this request in the conversation: prompts of two families grow with it."""


@runtime_checkable
class Model(Protocol):
    """A model under test.

    ``spec`` is the canonical ``provider:name@mode`` text that keys results; ``underscore_names`` says whether the
    adapter sends function names with dots replaced (then checkers expect them so).
    """

    spec: str
    mode: Mode
    underscore_names: bool

    async def generate(self, request: Request) -> Reply:
        """Answer one request; raises `pytest_bfcl.failures.AdapterError`."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...
