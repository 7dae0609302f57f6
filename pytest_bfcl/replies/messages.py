"""One message of a model from any library, converted to its API's body and read by that API's reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from itertools import islice
from typing import Any

from pytest_bfcl.answers import read_blocks, read_completion
from pytest_bfcl.answers.blocks import last_word
from pytest_bfcl.answers.chat import REASONING_FIELDS, count
from pytest_bfcl.endings import UNTOLD, UnknownEnding
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies.parts import Parts, kind_of
from pytest_bfcl.replies.shapes import UnknownShape, fields_of, plain, read_call, sequence, text_or_none, unknown, word
from pytest_bfcl.transcript import Reply, ToolCall

_MODEL = frozenset(("ai", "aimessage", "aimessagechunk", "assistant", "model", "response"))
_TOOL = frozenset(("function", "function_call_output", "ipython", "tool", "tool-return", "tool_result", "toolmessage"))
_USER = frozenset(("developer", "human", "humanmessage", "request", "system", "systemmessage", "user"))
_FIELDS = frozenset(("blocks", "content", "function_call", "parts", "reasoning_content", "refusal", "tool_calls"))
_HEADERS = frozenset(("id", "kind", "name", "role", "type"))
_RETURNS = _TOOL | {"retry-prompt", "tool_return"}
_OF_ANTHROPIC = frozenset(("redacted_thinking", "thinking", "tool_use"))
"""Types of blocks that identify their API."""
_EXTRAS = ("reasoning_details", "thinking_blocks", "provider_specific_fields", "extra_content")
"""Further fields of a chat message, or of one of its calls, that providers need back."""
_REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
_USAGES = ("usage", "usage_metadata")
_READ = frozenset(
    (*_FIELDS, *_REASONS, *_USAGES, "additional_kwargs", "choices", "delta", "invalid_tool_calls", "message", "raw",
     "response_metadata", "role", "text", "thinking", "reasoning")
)  # fmt: skip
"""Fields of a message that are read by name, or do not concern its ending."""
_INPUT = ("prompt_tokens", "input_tokens", "prompt_token_count", "inputTokens")
_OUTPUT = ("completion_tokens", "output_tokens", "candidates_token_count", "outputTokens")


def speaker_of(fields: Fields) -> str:
    """The speaker of a message: ``model``, ``tool``, ``user``, or empty if it is no message. A user's message with only
    results (Anthropic, pydantic-ai) is the tool's.
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
    """The speaker from LangChain's ``type``; a ``function`` without content is a tool call's type."""
    said = word(fields.get("type"))
    return "" if said == "function" and "content" not in fields else said


def _is_return(part: object) -> bool:
    fields = fields_of(part)
    return fields is not None and (kind_of(fields) in _RETURNS or "toolResult" in fields)


def read_message(fields: Fields, *beside: Fields, strict: bool = False) -> Reply:
    """A model's message. Raises `UnknownShape` for another speaker's, or for one without known content.

    ``beside``: the objects around it, which may have its ending, an error, its tokens. ``strict``: unknown content is
    an error.
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
    listed_calls = _listed_calls(fields)
    ending, usage = _ending([fields, *beside]), _usage([fields, *beside])
    if listed is not None and not listed_calls and (blocks := _of_anthropic(listed)) is not None:
        body = {**_around(fields, *beside), "content": blocks, "stop_reason": ending, "usage": usage}
        return of_api(lambda: read_blocks(body, "any"))
    message = {
        "content": content if isinstance(content, str) else parts.text,
        "refusal": text_or_none(fields.get("refusal")) or "".join(parts.refusals),
        "tool_calls": listed_calls or [_as_object(call) for call in parts.calls],
        **_extras(fields),
        **_reasoning(fields),
        "_thoughts": parts.thoughts,
    }
    choice = {**_around(*_with_metadata([fields])), "message": message, "finish_reason": ending}
    reply = of_api(lambda: read_completion({**_around(*beside), "choices": [choice], "usage": usage}, "any"))
    return replace(reply, reasoning=reply.reasoning or text_or_none("\n".join(filter(None, parts.thoughts))))


def read_written(fields: Fields) -> Reply:
    """An object with a text, as engines return it."""
    choice = {**_around(fields), "message": {"content": fields["text"]}, "finish_reason": _ending([fields])}
    return of_api(lambda: read_completion({"choices": [choice], "usage": _usage([fields])}, "any"))


def of_api(read: Callable[[], Reply]) -> Reply:
    """The reading of an API's body; an abnormal ending becomes the reply's problem."""
    try:
        return read()
    except UnknownEnding as error:
        return error.reply
    except AdapterError as error:
        raise UnknownShape(error.message) from None


def _around(*places: Fields) -> Parsed:
    """The fields next to the content that may have a provider's status or error."""
    found = {name: value for place in reversed(places) for name, value in place.items() if name not in _READ}
    return found if found.get("object") != "response" else {**found, "status": None}  # which is read as an ending


def _ending(places: Sequence[Fields]) -> Any:
    """The word for the reply's ending from any of the places; LangChain has a separate one for Responses."""
    places = _with_metadata(places)
    word = next((text for place in places for name in _REASONS if (text := _text(place.get(name)))), None)
    metered = next((place for place in places if place.get("object") == "response"), None)
    return word or (UNTOLD if metered is None else _status(metered))


def _status(response: Fields) -> object:
    try:
        return last_word(plain(response))
    except UnknownEnding as error:
        return error.ending


def _usage(places: Sequence[Fields]) -> Parsed:
    found = (fields_of(place.get(name)) for place in _with_metadata(places) for name in _USAGES)
    usage = next(filter(None, found), {})
    return {**usage, "input_tokens": count(usage, *_INPUT), "output_tokens": count(usage, *_OUTPUT)}


def _with_metadata(places: Sequence[Fields]) -> list[Fields]:
    return [*places, *filter(None, (fields_of(place.get("response_metadata")) for place in places))]


def _listed_calls(fields: Fields) -> list[Parsed]:
    """Calls in their own field; LangChain separates those whose arguments are no JSON."""
    extras = fields_of(fields.get("additional_kwargs")) or {}
    for source in (fields, extras):
        listed = [*(sequence(source.get("tool_calls")) or ()), *(sequence(source.get("invalid_tool_calls")) or ())]
        if fields_of(source.get("function_call")) is not None and not listed:
            listed = [{"function_call": source["function_call"]}]
        if listed:
            return [{**_extras(fields_of(call) or {}), **_as_object(read_call(call))} for call in listed]
    return []


def _as_object(call: ToolCall) -> Parsed:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _reasoning(fields: Fields) -> Parsed:
    extras = fields_of(fields.get("additional_kwargs")) or {}
    found = ((name, text) for s in (fields, extras) for name in REASONING_FIELDS if (text := text_or_none(s.get(name))))
    return dict(islice(found, 1))


def _extras(fields: Fields) -> Parsed:
    try:
        return {name: plain(fields[name]) for name in _EXTRAS if fields.get(name)}
    except UnknownShape:
        return {}


def _of_anthropic(parts: Sequence[object]) -> list[Parsed] | None:
    """The blocks of an Anthropic message; ``None`` if no block shows that it is one."""
    views = [fields_of(part) or {} for part in parts]
    if not all(views) or not any(word(view.get("type")) in _OF_ANTHROPIC for view in views):
        return None
    try:
        return [plain(view) for view in views]
    except UnknownShape:
        return None


def _text(item: object) -> str | None:
    return text_or_none(item.value if isinstance(item, Enum) else item)
