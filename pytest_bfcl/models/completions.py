"""The OpenAI chat-completions reply, read tolerantly: servers differ in every optional detail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.transcript import Reply, ToolCall, arguments_text

REPLY_LIMIT = 8 * 1024 * 1024
"""Longest reply taken, in characters; no model writes as much."""

_CUT = {"length": "length", "max_tokens": "length", "model_length": "length"}
_WORD_LIMIT = 200  # characters of a finish reason or an id that are kept
_TOKENS_LIMIT = 10**9  # tokens of one reply that are believed
_FILTERED = {"content_filter": "content_filter", "safety": "content_filter", "refusal": "content_filter"}


def read_completion(body: Any) -> Reply:
    """A response object (as parsed JSON) as a `Reply`.

    Raises a retryable `AdapterError` ``malformed_body`` when there is no choice with a message. Calls without id get
    one by position; arguments delivered as an object are written back as JSON; a legacy ``function_call`` counts as a
    call; an empty ``tool_calls`` list leaves the text.
    """
    message, finish = _message(body)
    calls = _calls(message)
    text, inline = _text(message.get("content"))
    if len(text or "") + sum(len(call.name) + len(call.arguments) for call in calls) > REPLY_LIMIT:
        raise AdapterError("malformed_body", f"the answer is longer than {REPLY_LIMIT} characters")
    refusal = message.get("refusal")
    if not text and not calls and isinstance(refusal, str) and refusal:
        text = refusal
    usage = body.get("usage") if isinstance(body.get("usage"), Mapping) else {}
    problem = _CUT.get(finish or "") or _FILTERED.get(finish or "")
    if problem is None and isinstance(refusal, str) and refusal and not calls:
        problem = "content_filter"
    return Reply(
        text=text,
        tool_calls=tuple(calls),
        reasoning=_reasoning(message) or inline,
        finish_reason=finish and finish[:_WORD_LIMIT],
        input_tokens=_count(usage, "prompt_tokens", "input_tokens"),
        output_tokens=_count(usage, "completion_tokens", "output_tokens"),
        problem=problem,
    )


def _message(body: Any) -> tuple[Mapping[str, Any], str | None]:
    choices = body.get("choices") if isinstance(body, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        what = "an empty list of choices" if choices == [] else "no choices[0].message"
        raise AdapterError("malformed_body", f"the answer has {what}", retryable=True)
    finish = choice.get("finish_reason")
    return message, finish if isinstance(finish, str) else None


def _calls(message: Mapping[str, Any]) -> list[ToolCall]:
    listed = message.get("tool_calls")
    calls: list[ToolCall] = []
    for position, item in enumerate(listed if isinstance(listed, list) else []):
        if not isinstance(item, Mapping):
            continue
        nested = item.get("function")
        function = nested if isinstance(nested, Mapping) else item
        identifier = item.get("id")
        usable = isinstance(identifier, str) and 0 < len(identifier) <= _WORD_LIMIT
        calls.append(_call(function, str(identifier) if usable else f"call_{position}"))
    legacy = message.get("function_call")
    if not calls and isinstance(legacy, Mapping) and legacy.get("name"):
        calls.append(_call(legacy, "call_0"))
    return calls


def _call(function: Mapping[str, Any], identifier: str) -> ToolCall:
    arguments = function.get("arguments", function.get("input"))
    # No arguments at all is how some servers write a call without parameters; "" is kept: it does not decode.
    text = "{}" if arguments is None else arguments_text(arguments)
    return ToolCall(str(function.get("name") or ""), text, identifier)


def _text(content: Any) -> tuple[str | None, str | None]:
    """Text and inline reasoning of a ``content`` that is text, null or a list of parts."""
    if content is None or isinstance(content, str):
        return content, None
    if not isinstance(content, list):
        return str(content), None
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            said = part.get("text", part.get("thinking", part.get("refusal")))
            if isinstance(said, list):  # Mistral nests the parts of a thought
                said = "".join(str(p.get("text", "")) for p in said if isinstance(p, Mapping))
            if isinstance(said, str):
                (thoughts if part.get("type") in ("thinking", "reasoning") else texts).append(said)
    return "".join(texts) if texts or not thoughts else None, "\n".join(thoughts) or None


def _reasoning(message: Mapping[str, Any]) -> str | None:
    """Reasoning where a field says so; ``<think>`` inside the text stays there: it is part of the answer."""
    for key in ("reasoning_content", "reasoning", "thinking"):
        value = message.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def _count(usage: Any, *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        # Some servers send -1 or worse for "unknown"; a sum must not suffer from it.
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _TOKENS_LIMIT:
            return int(value)
    return None
