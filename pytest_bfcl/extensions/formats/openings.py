"""What families' handlers change about a turn's messages before anything is sent (formats spec §2)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bfcl.extensions.formats.parts import text_of
from pytest_bfcl.formats.table import Format
from pytest_bfcl.transcript import Message

_JOINING = frozenset({"gemma", "r1"})
_SYSTEM_TO_USER = frozenset({"r1", "hammer"})


def opened(family: Format, messages: Sequence[Message], first: bool) -> list[Message]:
    """A turn's messages in this family's form; ``first`` is turn 0, system prompt included."""
    changed = [dict(message) for message in messages]
    if family.template in _SYSTEM_TO_USER and first:
        for message in changed:
            if message["role"] == "system":
                message["role"] = "user"
    if family.template == "gemma":
        for message in changed:
            if message["role"] == "assistant":
                message["role"] = "model"
    return _joined(changed) if family.template in _JOINING else changed


def _joined(messages: list[Message]) -> list[Message]:
    """Consecutive user messages as one, a blank line between."""
    result: list[Message] = []
    for message in messages:
        if result and message["role"] == result[-1]["role"] == "user":
            result[-1]["content"] = f"{text_of(result[-1])}\n\n{text_of(message)}"
        else:
            result.append(message)
    return result
