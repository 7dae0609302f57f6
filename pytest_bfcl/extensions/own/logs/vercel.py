"""Spans of Vercel's AI SDK: ``ai.prompt.messages`` and ``.tools``, ``ai.response.text`` and ``.toolCalls``.

Messages have the SDK's own parts (``tool-call``, ``tool-result``), with the names of its releases 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.extensions.own.logs.conversation import maybe_parsed, objects, parsed
from pytest_bfcl.extensions.own.logs.truth import may_not_call
from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies import Said, UnknownShape, read_history

_ASKS = ("doGenerate", "doStream")
"""How operations that ask a model end; those around them repeat the same."""
_REPLY = ("text", "toolCalls", "object")


def vercel(nested: Fields) -> tuple[Any, list[Said]] | None:
    """Tools and conversation of a request to a model; ``None`` for any other span. Raises `UnknownShape`."""
    own = nested.get("ai")
    if not isinstance(own, Mapping) or not str(own.get("operationId")).endswith(_ASKS):
        return None
    asked, told = (own[side] if isinstance(own.get(side), Mapping) else {} for side in ("prompt", "response"))
    if "messages" not in asked or ("finishReason" in told and told.keys().isdisjoint(_REPLY)):
        raise UnknownShape("ai.prompt.messages: its content was not recorded (recordInputs, recordOutputs)")
    messages = [_message(each) for each in objects(asked["messages"], "ai.prompt.messages")]
    said = read_history(messages, "ai.prompt.messages")
    calls = objects(told.get("toolCalls") or [], "ai.response.toolCalls")
    if told and not calls and may_not_call({"tool_choice": maybe_parsed(asked.get("toolChoice"))}):
        raise UnknownShape("ai.prompt.toolChoice: none: a model that may not call says nothing about calls")
    text = told.get("text")
    words = [{"type": "text", "text": text}] if isinstance(text, str) and text else []
    if told:  # a request that failed has no answer
        said += read_history([{"role": "assistant", "content": [*words, *map(_part, calls)]}], "ai.response")
    return [parsed(each, "ai.prompt.tools") for each in asked.get("tools") or []], said


def _message(message: Fields) -> Fields:
    content = message.get("content")
    return {**message, "content": [_part(each) for each in content]} if isinstance(content, list) else message


def _part(part: Any) -> Any:
    """A part in words that other messages have, too."""
    if not isinstance(part, Mapping):
        return part
    if part.get("type") == "tool-result":
        output = part.get("output", part.get("result"))
        value = output["value"] if isinstance(output, Mapping) and {"type", "value"} <= output.keys() else output
        return {"type": "tool_result", "tool_use_id": part.get("toolCallId"), "content": value}
    if "toolCallId" in part:
        given = maybe_parsed(part.get("input", part.get("args")))
        return {"type": "tool_use", "id": part["toolCallId"], "name": part.get("toolName"), "input": given}
    return {"type": "thinking", "thinking": part.get("text")} if part.get("type") == "reasoning" else part
