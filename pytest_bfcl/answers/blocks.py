"""The body of one of Anthropic's messages → `Reply`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_bfcl.answers.figures import check_size, count, identifier, keepable, reasoning_count, served_by
from pytest_bfcl.bodies import blocks_trouble
from pytest_bfcl.endings import ended, is_marked
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import ProviderState, Reply, ToolCall, arguments_text
from pytest_bfcl.troubles import AdapterTrouble

THOUGHTS = ("thinking", "redacted_thinking")
"""Blocks of reasoning."""


def read_blocks(body: Any, endings: str = "anthropic") -> Reply:
    """A message object as a `Reply`; unlisted blocks have no content (`pytest_bfcl.bodies`).

    ``endings`` names the table of its words.
    """
    content = body.get("content") if isinstance(body, Mapping) else None
    if not isinstance(content, list):
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, "the answer has no content blocks", retryable=True)
    blocks = [block for block in content if isinstance(block, Mapping)]
    calls = [
        ToolCall(str(block.get("name") or ""), arguments_text(block.get("input", {})), identifier(block.get("id"), n))
        for n, block in enumerate(b for b in blocks if b.get("type") == "tool_use")
    ]
    texts = _texts(blocks, "text")
    text = "".join(texts) if texts else None
    check_size(text, calls)
    usage = body.get("usage")
    reply = Reply(
        text=text,
        tool_calls=tuple(calls),
        reasoning="\n".join(_texts(blocks, "thinking")) or None,
        input_tokens=_input_tokens(usage),
        output_tokens=count(usage, "output_tokens"),
        reasoning_tokens=reasoning_count(usage) or None,
        state=_state(blocks),
        served=served_by(body),
    )
    reasoned = any(block.get("type") in THOUGHTS for block in blocks)
    word = body.get("stop_reason")
    trouble = blocks_trouble(body)
    return ended(reply, word, endings, reasoned=reasoned, filtered=is_marked(body), trouble=trouble)


def _texts(blocks: Sequence[Fields], kind: str) -> list[str]:
    """The text of the blocks of one kind."""
    return [said for block in blocks if block.get("type") == kind and isinstance(said := block.get(kind), str)]


def _input_tokens(usage: object) -> int | None:
    """All input tokens, from the cache or not."""
    plain = count(usage, "input_tokens")
    if plain is None:
        return None
    return plain + (count(usage, "cache_creation_input_tokens") or 0) + (count(usage, "cache_read_input_tokens") or 0)


def _state(blocks: Sequence[Fields]) -> ProviderState | None:
    kept = tuple(
        {name: value for name, value in block.items() if value is not None}
        for block in blocks
        if block.get("type") != "text" or block.get("text")
    )
    if not kept or not keepable(kept):
        return None
    return ProviderState("anthropic", parts=kept)
