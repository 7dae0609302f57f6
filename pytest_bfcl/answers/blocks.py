"""The bodies of the APIs besides chat → `Reply`: Anthropic's messages, Gemini's ``generateContent`` in the spelling of
REST and of its SDK, OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_bfcl.answers.chat import check_size, count, identifier, keepable, reasoning_count, served_by
from pytest_bfcl.bodies import blocks_trouble, candidate_trouble, items_trouble
from pytest_bfcl.endings import UNTOLD, Ending, UnknownEnding, ended, ending_of, first_choice, is_marked, normal_form
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
    texts = _block_texts(blocks, "text")
    text = "".join(texts) if texts else None
    check_size(text, calls)
    usage = body.get("usage")
    reply = Reply(
        text=text,
        tool_calls=tuple(calls),
        reasoning="\n".join(_block_texts(blocks, "thinking")) or None,
        input_tokens=_input_tokens(usage),
        output_tokens=count(usage, "output_tokens"),
        reasoning_tokens=reasoning_count(usage) or None,
        state=_block_state(blocks),
        served=served_by(body),
    )
    reasoned = any(block.get("type") in THOUGHTS for block in blocks)
    word = body.get("stop_reason")
    trouble = blocks_trouble(body)
    return ended(reply, word, endings, reasoned=reasoned, filtered=is_marked(body), trouble=trouble)


def _block_texts(blocks: Sequence[Fields], kind: str) -> list[str]:
    """The text of the blocks of one kind."""
    return [said for block in blocks if block.get("type") == kind and isinstance(said := block.get(kind), str)]


def _input_tokens(usage: object) -> int | None:
    """All input tokens, from the cache or not."""
    plain = count(usage, "input_tokens")
    if plain is None:
        return None
    return plain + (count(usage, "cache_creation_input_tokens") or 0) + (count(usage, "cache_read_input_tokens") or 0)


def _block_state(blocks: Sequence[Fields]) -> ProviderState | None:
    kept = tuple(
        {name: value for name, value in block.items() if value is not None}
        for block in blocks
        if block.get("type") != "text" or block.get("text")
    )
    if not kept or not keepable(kept):
        return None
    return ProviderState("anthropic", parts=kept)


def read_candidates(body: Any) -> Reply:
    """A response as a `Reply`: texts, calls and thoughts of the first candidate; a blocked prompt is filtered."""
    candidate = first_choice({"choices": _either(body, "candidates")})
    feedback = _either(body, "promptFeedback", "prompt_feedback") or {}
    blocked = isinstance(feedback, Mapping) and _either(feedback, "blockReason", "block_reason")
    if candidate is None and not blocked:
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, "the answer has no candidates", retryable=True)
    candidate = candidate or {}
    content = candidate.get("content")
    listed = content.get("parts") if isinstance(content, Mapping) else None
    parts = [part for part in listed or () if isinstance(part, Mapping)] if isinstance(listed, list) else []
    calls = list(_candidate_calls(parts))
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
    thoughts = [part["text"] for part in parts if isinstance(part.get("text"), str) and part.get("thought")]
    text = "".join(texts) if texts else None
    check_size(text, calls)
    usage = _either(body, "usageMetadata", "usage_metadata")
    reply = Reply(
        text=text,
        tool_calls=tuple(calls),
        reasoning="\n".join(thoughts) or None,
        input_tokens=count(usage, "promptTokenCount", "prompt_token_count"),
        output_tokens=count(usage, "candidatesTokenCount", "candidates_token_count"),
        reasoning_tokens=count(usage, "thoughtsTokenCount", "thoughts_token_count"),
        served=served_by(body),
    )
    word = blocked or _either(candidate, "finishReason", "finish_reason")
    return ended(reply, word, "gemini", filtered=bool(blocked), trouble=candidate_trouble(body, candidate, parts))


def _candidate_calls(parts: Iterable[Fields]) -> Iterable[ToolCall]:
    for position, part in enumerate(parts):
        call = _either(part, "functionCall", "function_call")
        if isinstance(call, Mapping):
            arguments = arguments_text(call.get("args") or {})
            yield ToolCall(str(call.get("name") or ""), arguments, identifier(call.get("id"), position))


def _either(fields: Fields, *names: str) -> Any:
    """The first present spelling of a field."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


_CALLS = ("function_call", "custom_tool_call")
_TEXTS = ("output_text", "text", None)


def read_items(body: Any) -> Reply:
    """A response object as a `Reply`: text of its messages, calls, summaries of its reasoning."""
    output = body.get("output") if isinstance(body, Mapping) else None
    if not isinstance(output, list):
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, "the answer has no output items", retryable=True)
    items = [item for item in output if isinstance(item, Mapping)]
    if not items and body.get("status") in ("completed", None):
        what = "the answer has an empty list of output items"
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, what, retryable=True)
    calls = [
        ToolCall(
            str(item.get("name") or ""), arguments_text(item.get("arguments", item.get("input", "{}"))),
            identifier(item.get("call_id") or item.get("id"), position),
        )
        for position, item in enumerate(item for item in items if item.get("type") in _CALLS)
    ]  # fmt: skip
    text = _item_text(items)
    check_size(text, calls)
    usage = body.get("usage")
    reply = Reply(
        text=text,
        tool_calls=tuple(calls),
        reasoning=_item_reasoning(items),
        input_tokens=count(usage, "input_tokens", "prompt_tokens"),
        output_tokens=count(usage, "output_tokens", "completion_tokens"),
        reasoning_tokens=reasoning_count(usage) or None,
        state=_item_state(items),
        served=served_by(body),
    )
    kinds = [str(item.get("type")) for item in items]
    return ended(
        reply, last_word(body), "responses", reasoned="reasoning" in kinds, filtered=is_marked(body, *items),
        trouble=items_trouble(body, items),
    )  # fmt: skip


def last_word(body: Fields) -> object:
    """The status, or the reason of an incomplete response. Raises `UnknownEnding` for any other status."""
    status, details = body.get("status"), body.get("incomplete_details")
    if status is UNTOLD:
        return status
    known = normal_form(status) if isinstance(status, str) else ""
    reason = details.get("reason") if isinstance(details, Mapping) else None
    if known in ("completed", "incomplete") and ending_of(reason, "responses") in (Ending.CUT, Ending.FILTERED):
        return reason
    if known == "completed" and not reason:
        return status
    raise UnknownEnding(f"{status}: {reason}" if reason and known in ("completed", "incomplete") else status)


def _item_text(items: Sequence[Fields]) -> str | None:
    """The texts of all messages; a refusal if there is nothing else."""
    texts: list[str] = []
    refusals: list[str] = []
    for item in items:
        content = item.get("content")
        if item.get("type") != "message":
            continue
        if isinstance(content, str):
            texts.append(content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping):
                if part.get("type") in _TEXTS and isinstance(part.get("text"), str):
                    texts.append(part["text"])
                elif isinstance(part.get("refusal"), str):
                    refusals.append(part["refusal"])
    return "".join(texts or refusals) if texts or refusals else None


def _item_reasoning(items: Sequence[Fields]) -> str | None:
    """Summaries, each with a newline, as the reference records them; else the reasoning text of open models."""
    summaries: list[str] = []
    contents: list[str] = []
    for item in items:
        if item.get("type") == "reasoning":
            for name, found in (("summary", summaries), ("content", contents)):
                parts = item.get(name)
                for part in parts if isinstance(parts, list) else ():
                    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                        found.append(part["text"])
    if summaries:
        return "".join(f"{text}\n" for text in summaries)
    return "\n".join(contents) or None


def _item_state(items: Sequence[Fields]) -> ProviderState | None:
    if not items or not keepable(items):
        return None
    # What a provider sent as null it need not get back; some refuse a null status.
    return ProviderState(
        "responses", parts=tuple({k: v for k, v in item.items() if v is not None} for item in items)
    )  # fmt: skip
