"""What came beside text and calls and has to go back unchanged: thinking with signatures, reasoning items, extras."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_bfcl.answers.chat import REASONING_FIELDS
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies.shapes import UnknownShape, fields_of, plain, sequence, text_or_none, word
from pytest_bfcl.transcript import ProviderState

_EXTRAS = ("reasoning_details", "thinking_blocks", "provider_specific_fields", "extra_content")
"""Further fields of a chat message, or of one of its calls, that providers want to see again."""
_BLOCKS = frozenset(("redacted_thinking", "thinking", "tool_use"))
_LIMIT = 1_000_000  # characters


def state_of_message(message: Fields) -> ProviderState | None:
    """The content blocks of an Anthropic message, or the extras of a chat message; ``None`` without any."""
    blocks = sequence(message.get("content"))
    if blocks and (found := _whole("anthropic", blocks, _BLOCKS)) is not None:
        return found
    field = next((name for name in REASONING_FIELDS if text_or_none(message.get(name))), None)
    calls = [fields_of(call) or {} for call in sequence(message.get("tool_calls")) or ()]
    try:
        fields = _extras(message)
        further = tuple(_extras(call) for call in calls)
    except UnknownShape:
        return None
    if not (field or fields or any(further)) or len(repr((fields, further))) > _LIMIT:
        return None
    return ProviderState("chat", field, fields, further if any(further) else ())


def _extras(fields: Fields) -> Parsed:
    return {name: plain(fields[name]) for name in _EXTRAS if fields.get(name)}


def _whole(api: str, parts: Sequence[Any], telling: frozenset[str]) -> ProviderState | None:
    """All parts, when one of them is of a kind that tells whose they are; what is null need not go back."""
    views = [fields_of(part) or {} for part in parts]
    if not all(views) or not any(word(view.get("type")) in telling for view in views):
        return None
    try:
        kept = tuple({name: plain(value) for name, value in view.items() if value is not None} for view in views)
    except UnknownShape:
        return None
    return ProviderState(api, parts=kept) if len(repr(kept)) <= _LIMIT else None
