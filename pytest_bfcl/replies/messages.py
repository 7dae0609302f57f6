"""One message of a model from any library, converted to its API's body and read by that API's reader.

`Parts` are a message's text, calls and reasoning: content lists of OpenAI, Anthropic, LangChain, Gemini and
Bedrock, output items of Responses, ``parts`` of pydantic-ai, ``blocks`` of LlamaIndex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice
from typing import Any

from pytest_bfcl.answers import read_blocks, read_completion
from pytest_bfcl.answers.blocks import last_word
from pytest_bfcl.answers.chat import REASONING_FIELDS, count
from pytest_bfcl.endings import UNTOLD, UnknownEnding
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies.shapes import (
    CALL_KINDS,
    UnknownShape,
    fields_of,
    is_call,
    plain,
    read_call,
    sequence,
    text_or_none,
    unknown,
    word,
)
from pytest_bfcl.transcript import Reply, ToolCall

_KINDS = ("type", "part_kind", "block_type")
_TEXT = frozenset(("output_text", "text"))
_THOUGHTS = frozenset(("reasoning", "reasoning_content", "redacted_thinking", "thinking", "thought"))
_SAID = ("text", "thinking", "reasoning", "content", "reasoningText", "summary")
"""Fields in which a part has its text."""
_NESTED_THOUGHT = ("reasoningContent", "reasoning_content")
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


@dataclass(slots=True)
class Parts:
    """The result of one reply's parts; ``known`` counts the recognised ones.

    ``strict``: an unknown kind of part is an error instead of being skipped.
    """

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    known: int = 0
    strict: bool = False

    @property
    def text(self) -> str | None:
        """The texts joined; ``None`` without any."""
        return "".join(self.texts) if self.texts else None

    def add_all(self, parts: Iterable[Any]) -> None:
        """Every part. Raises `UnknownShape` if none of the parts is known, or one is an error."""
        given = list(parts)
        for part in given:
            self.add(part)
        if given and not self.known:
            raise unknown("content of a kind that is neither text nor a call", given[0])

    def add(self, part: object) -> None:
        """One part; actions of a provider's own tools (searches, code, images) are skipped."""
        if isinstance(part, str):
            self.texts.append(part)
            self.known += 1
            return
        fields = fields_of(part)
        if fields is None:
            raise unknown("a part of a message", part)
        known = self._add_known(fields, part)
        if self.strict and not known:
            raise unknown(f"a block of the kind {kind_of(fields) or '(none)'!r}", part)
        self.known += known

    def _add_known(self, fields: Fields, part: object) -> bool:
        kind = kind_of(fields)
        if kind == "error":
            raise unknown("an error instead of an output", part)
        if kind in _THOUGHTS or fields.get("thought") is True:
            self.thoughts.append(words_of(fields))
        elif kind in CALL_KINDS or (not kind and is_call(fields)):
            self.calls.append(read_call(part))
        elif kind == "message":
            self.add_all(sequence(fields.get("content")) or ())
        elif kind == "refusal" or "refusal" in fields:
            self.refusals.append(str(fields.get("refusal") or words_of(fields)))
        elif kind in _TEXT or (not kind and isinstance(fields.get("text"), str)):
            self.texts.append(words_of(fields))
        elif any(fields_of(fields.get(name)) is not None for name in _NESTED_THOUGHT):
            self.thoughts.append(words_of(fields))
        else:
            return False
        return True


def kind_of(fields: Fields) -> str:
    """The kind that this part or message names; empty without one."""
    return next((found for name in _KINDS if (found := word(fields.get(name)))), "")


def words_of(value: object) -> str:
    """The words of a part, at any depth of its summary or nested parts."""
    if isinstance(value, str):
        return value
    listed = sequence(value)
    if listed is not None:
        return "\n".join(filter(None, map(words_of, listed)))
    fields = fields_of(value) or {}
    for name in (*_SAID, *_NESTED_THOUGHT):
        said = fields.get(name)
        if text_or_none(said) or sequence(said) or fields_of(said) is not None:
            return words_of(said)
    return ""


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
