"""One message of a model, of any library, → `Reply`."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

from pytest_bfcl.bodies import Trouble, blocks_trouble
from pytest_bfcl.endings import TROUBLE, has_answer, is_marked, problem_of
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies.calls import read_call
from pytest_bfcl.replies.parts import Parts, kind_of
from pytest_bfcl.replies.shapes import UnknownShape, fields_of, sequence, text_or_none, unknown, word
from pytest_bfcl.replies.state import REASONING_FIELDS, state_of_message
from pytest_bfcl.transcript import Reply, ToolCall

_MODEL = frozenset(("ai", "aimessage", "aimessagechunk", "assistant", "model", "response"))
_TOOL = frozenset(("function", "function_call_output", "ipython", "tool", "tool-return", "tool_result", "toolmessage"))
_USER = frozenset(("developer", "human", "humanmessage", "request", "system", "systemmessage", "user"))
_FIELDS = frozenset(("blocks", "content", "function_call", "parts", "reasoning_content", "refusal", "tool_calls"))
_HEADERS = frozenset(("id", "kind", "name", "role", "type"))
_RETURNS = _TOOL | {"retry-prompt", "tool_return"}
_REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason")
_COUNTS = {
    "input_tokens": ("prompt_tokens", "input_tokens", "prompt_token_count", "inputTokens"),
    "output_tokens": ("completion_tokens", "output_tokens", "candidates_token_count", "outputTokens"),
}


def speaker_of(fields: Fields) -> str:
    """Who speaks in a message: ``model``, ``tool``, ``user``, or empty when it is no message.

    A user's message that only brings results (Anthropic, pydantic-ai) is the tool's.
    """
    parts = sequence(fields.get("parts")) or sequence(fields.get("content"))
    for said in (word(fields.get("role")), word(fields.get("kind")), _typed(fields)):
        if said in _MODEL:
            return "model"
        if said in _USER:
            return "tool" if parts and all(_is_return(part) for part in parts) else "user"
        if said in _TOOL:
            return "tool"
    return ""


def _typed(fields: Fields) -> str:
    """The speaker as LangChain's ``type`` says it; a ``function`` without content is a tool call's type."""
    said = word(fields.get("type"))
    return "" if said == "function" and "content" not in fields else said


def _is_return(part: object) -> bool:
    fields = fields_of(part)
    return fields is not None and (kind_of(fields) in _RETURNS or "toolResult" in fields)


def read_message(fields: Fields, *, strict: bool = False, of_a_body: bool = False) -> Reply:
    """A model's message. Raises `UnknownShape` when it is another's, or holds nothing that is known.

    ``strict``: also when it holds anything that is not known. ``of_a_body``: it came in a completion, which says how it
    ended: what it holds is then weighed as the live reply's is.
    """
    typed = word(fields.get("type")) == "message" or "stop_reason" in fields
    speaker = speaker_of(fields)
    if speaker in ("user", "tool"):
        raise UnknownShape(f"the message is the {speaker}'s, not the model's")
    if _FIELDS.isdisjoint(fields) and not _HEADERS.issuperset(fields):
        raise unknown("a message without content or calls", dict(fields))
    parts = Parts(strict=strict, of_a_body=of_a_body or typed)
    content = fields.get("content")
    listed = next((found for name in ("content", "parts", "blocks") if (found := sequence(fields.get(name)))), None)
    if listed is not None:
        parts.add_all(listed)
    elif content is not None and not isinstance(content, str | list | tuple):
        raise unknown("a message's content is text or a list of parts, not", content)
    calls = _listed_calls(fields) or tuple(parts.calls)
    refusal = text_or_none(fields.get("refusal")) or text_or_none("".join(parts.refusals))
    text = content if isinstance(content, str) else parts.text
    if not text and not calls and refusal:
        text = refusal
    reply = Reply(
        text=text,
        tool_calls=calls,
        reasoning=_reasoning(fields) or text_or_none("\n".join(filter(None, parts.thoughts))),
        state=state_of_message(fields),
    )
    return with_figures(with_trouble(reply, blocks_trouble(fields, fields_of)) if typed else reply, fields)


def _listed_calls(fields: Fields) -> tuple[ToolCall, ...]:
    """Calls in a field of their own; LangChain keeps those whose arguments are no JSON apart."""
    extras = fields_of(fields.get("additional_kwargs")) or {}
    for source in (fields, extras):
        listed = [*(sequence(source.get("tool_calls")) or ()), *(sequence(source.get("invalid_tool_calls")) or ())]
        if listed:
            return tuple(map(read_call, listed))
        if fields_of(source.get("function_call")) is not None:
            return (read_call({"function_call": source["function_call"]}),)
    return ()


def _reasoning(fields: Fields) -> str | None:
    extras = fields_of(fields.get("additional_kwargs")) or {}
    return next(
        (text for s in (fields, extras) for name in REASONING_FIELDS if (text := text_or_none(s.get(name)))), None
    )


def with_trouble(reply: Reply, trouble: Trouble) -> Reply:
    """The reply as trouble where its body holds what no normal reply has (`pytest_bfcl.bodies`)."""
    word = trouble.error or (trouble.silent if not has_answer(reply) else None)
    return reply if word is None else replace(reply, finish_reason=word, problem=TROUBLE)


def with_figures(reply: Reply, fields: Fields) -> Reply:
    """The reply with its last word and tokens, as far as the fields beside it say so (`pytest_bfcl.endings`).

    Trouble stays trouble, whatever word stands beside it.
    """
    if reply.problem == TROUBLE:
        return reply
    about = fields_of(fields.get("response_metadata")) or {}
    incomplete = fields_of(fields.get("incomplete_details")) or {}  # of a Responses object
    told = [source.get(name) for source in (fields, about) for name in _REASONS] + [incomplete.get("reason")]
    if "output" in fields and word(fields.get("status")) != "incomplete":
        told.append(fields.get("status"))
    reason = next((each for each in map(_value, told) if isinstance(each, str) and each), None)
    usage = next((u for name in ("usage", "usage_metadata") if (u := fields_of(fields.get(name))) is not None), {})
    found: Parsed = {name: _count(usage, keys) for name, keys in _COUNTS.items()}
    found["finish_reason"] = reason
    heard = replace(reply, finish_reason=reason or reply.finish_reason)
    found["problem"] = "content_filter" if is_marked(fields) else problem_of(heard)
    return replace(reply, **{name: value for name, value in found.items() if value is not None})


def _value(item: object) -> Any:
    return item.value if isinstance(item, Enum) else item


def _count(usage: Fields, names: tuple[str, ...]) -> int | None:
    found = (usage.get(name) for name in names)
    return next((value for value in found if type(value) is int and value > 0), None)
