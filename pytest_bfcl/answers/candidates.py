"""The body of Gemini's ``generateContent`` → `Reply`, in the spelling of its REST API and of its SDK."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_bfcl.answers.figures import check_size, count, identifier, served_by
from pytest_bfcl.bodies import candidate_trouble
from pytest_bfcl.endings import ended, first_choice
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Reply, ToolCall, arguments_text
from pytest_bfcl.troubles import AdapterTrouble


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
    calls = list(_calls(parts))
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


def _calls(parts: Iterable[Fields]) -> Iterable[ToolCall]:
    for position, part in enumerate(parts):
        call = _either(part, "functionCall", "function_call")
        if isinstance(call, Mapping):
            arguments = arguments_text(call.get("args") or {})
            yield ToolCall(str(call.get("name") or ""), arguments, identifier(call.get("id"), position))


def _either(fields: Fields, *names: str) -> Any:
    """The first present spelling of a field."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)
