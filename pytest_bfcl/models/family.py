"""A model family whose prompts are rendered here, as an extension offers it (``--bfcl-api completions``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import FunctionDoc
    from pytest_bfcl.formats.table import Format
    from pytest_bfcl.transcript import Message


class Heard(Protocol):
    """A reply as its family takes it."""

    @property
    def messages(self) -> list[Message]:
        """What goes back to the model."""


class Family(Protocol):
    """What a conversation asks of a family."""

    @property
    def format(self) -> Format:
        """Its row of the table."""

    def opened(self, messages: Sequence[Message], first: bool) -> list[Message]:
        """A turn's new messages in this family's form (``first``: turn 0, with the system prompt)."""

    def read(self, text: str, ids: Sequence[str] = (), functions: Sequence[FunctionDoc] = ()) -> Heard:
        """A raw reply, and the messages it leaves."""

    def results(self, calls: Sequence[str], results: Sequence[str], ids: Sequence[str] = ()) -> list[Message]:
        """The messages that bring results of executed calls (call texts) back to the model."""
