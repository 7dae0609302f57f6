"""Helpers for the bodies of all APIs: foreign counts and texts, read within limits."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.transcript import Served, ToolCall
from pytest_bfcl.troubles import AdapterTrouble

REPLY_LIMIT = 2**23
"""Longest accepted reply in characters; no model writes that much."""


ID_LIMIT = 100_000
"""Longest id of a call: some contain a signature of the model's thoughts."""


STATE_LIMIT = 2_000_000
"""Largest provider state of one reply that is stored and sent back, in characters; larger ones are dropped."""


_DEPTH_LIMIT = 60  # of a provider's state


_TOKENS_LIMIT = 10**9  # tokens of one reply that are believed


_NAME_LIMIT = 200  # characters of what a server calls itself, its model or a reply


def count(usage: object, *names: str) -> int | None:
    """The first of the named numbers of a ``usage`` object; negative ones mean unknown."""
    if not isinstance(usage, Mapping):
        return None
    for name in names:
        value = usage.get(name)
        # Some servers send -1 or worse for "unknown"; a sum must not suffer from it.
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _TOKENS_LIMIT:
            return int(value)
    return None


def reasoning_count(usage: object) -> int | None:
    """Reasoning tokens, from any place where providers report them."""
    if not isinstance(usage, Mapping):
        return None
    for name in ("completion_tokens_details", "output_tokens_details"):
        found = count(usage.get(name), "reasoning_tokens", "thinking_tokens")
        if found is not None:
            return found
    return count(usage, "reasoning_tokens")


def served_by(body: object) -> Served | None:
    """Model, fingerprint and id in a body."""
    if not isinstance(body, Mapping):
        return None
    kept = [
        value[:_NAME_LIMIT] if isinstance(value := body.get(name), str) and value else None
        for name in ("model", "system_fingerprint", "id")
    ]
    return Served(*kept) if any(kept) else None


def identifier(value: object, position: int) -> str:
    """A call's id as the provider gave it, of any length, or one made from its position."""
    if isinstance(value, str) and 0 < len(value) <= ID_LIMIT:
        return value
    return f"call_{position}"


def keepable(*values: object) -> bool:
    """Whether a provider's state may be stored and sent back: not too large, not nested too deeply."""
    return _is_flat(values, _DEPTH_LIMIT) and len(repr(values)) <= STATE_LIMIT


def _is_flat(value: object, depth: int) -> bool:
    if isinstance(value, Mapping):
        return depth > 0 and all(_is_flat(each, depth - 1) for each in value.values())
    if isinstance(value, list | tuple):
        return depth > 0 and all(_is_flat(each, depth - 1) for each in value)
    return True


def check_size(text: str | None, calls: list[ToolCall]) -> None:
    """Raise `AdapterError` for a reply that no model writes."""
    if len(text or "") + sum(len(call.name) + len(call.arguments) for call in calls) > REPLY_LIMIT:
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, f"the answer is longer than {REPLY_LIMIT} characters")
