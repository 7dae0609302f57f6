"""One message of a model, of any library, → `Reply`."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from pytest_bfcl.answers.chat import REASONING_FIELDS
from pytest_bfcl.answers.figures import count
from pytest_bfcl.answers.items import last_word
from pytest_bfcl.bodies import Trouble, chat_trouble
from pytest_bfcl.endings import TROUBLE, UnknownEnding, ended, is_marked
from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies.calls import read_call
from pytest_bfcl.replies.parts import Parts, kind_of
from pytest_bfcl.replies.shapes import UnknownShape, fields_of, sequence, text_or_none, unknown, word
from pytest_bfcl.replies.state import state_of_message
from pytest_bfcl.transcript import Reply, ToolCall

_MODEL = frozenset(("ai", "aimessage", "aimessagechunk", "assistant", "model", "response"))
_TOOL = frozenset(("function", "function_call_output", "ipython", "tool", "tool-return", "tool_result", "toolmessage"))
_USER = frozenset(("developer", "human", "humanmessage", "request", "system", "systemmessage", "user"))
_FIELDS = frozenset(("blocks", "content", "function_call", "parts", "reasoning_content", "refusal", "tool_calls"))
_HEADERS = frozenset(("id", "kind", "name", "role", "type"))
_RETURNS = _TOOL | {"retry-prompt", "tool_return"}
_REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
_USAGES = ("usage", "usage_metadata")
_INPUT = ("prompt_tokens", "input_tokens", "prompt_token_count", "inputTokens")
_OUTPUT = ("completion_tokens", "output_tokens", "candidates_token_count", "outputTokens")


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


def read_message(fields: Fields, *, strict: bool = False) -> Reply:
    """A model's message. Raises `UnknownShape` when it is another's, or holds nothing that is known.

    ``strict``: also when it holds anything that is not known.
    """
    speaker = speaker_of(fields)
    if speaker in ("user", "tool"):
        raise UnknownShape(f"the message is the {speaker}'s, not the model's")
    if _FIELDS.isdisjoint(fields) and not _HEADERS.issuperset(fields):
        raise unknown("a message without content or calls", dict(fields))
    parts = Parts(strict=strict)
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
    return closed(reply, fields, message=fields)


def _listed_calls(fields: Fields) -> tuple[ToolCall, ...]:
    """Calls in their own field; LangChain keeps those whose arguments are no JSON apart."""
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


def closed(reply: Reply, *beside: Fields, message: Fields | None = None) -> Reply:
    """A library's reply with the tokens, the ending and the error that it keeps beside the words.

    What tells no ending stays as it is. Bodies of an API have their own readers (`pytest_bfcl.answers`).
    """
    if reply.problem == TROUBLE:
        return reply
    places = [*beside, *(each for place in beside if (each := fields_of(place.get("response_metadata"))) is not None)]
    word = next((text for place in places for name in _REASONS if (text := _text(place.get(name)))), None)
    usage = next((u for p in places for name in _USAGES if (u := fields_of(p.get(name))) is not None), {})
    read, written = count(usage, *_INPUT) or reply.input_tokens, count(usage, *_OUTPUT) or reply.output_tokens
    reply = replace(reply, input_tokens=read, output_tokens=written)
    metered = next((place for place in places if place.get("object") == "response"), None)  # LangChain's Responses
    error = next((found for place in beside if (found := chat_trouble(place, {}, message).error)), None)
    filtered = is_marked(*places)
    if word is None and metered is None and error is None and not filtered:
        return reply
    try:
        ending = word or (None if metered is None else last_word(metered))
        return ended(reply, ending, "any", filtered=filtered, trouble=Trouble(error))
    except UnknownEnding as trouble:
        return replace(reply, finish_reason=trouble.ending, problem=TROUBLE)


def _text(item: object) -> str | None:
    return text_or_none(item.value if isinstance(item, Enum) else item)
