"""The body of a chat completion → `Reply`, read tolerantly, because servers differ in every optional detail.

Counts and texts of servers are read within limits, here for the bodies of all APIs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.bodies import CALL_PARTS, PARTS, chat_trouble, has_thoughts
from pytest_bfcl.endings import Ending, ended, ending_of, first_choice, is_marked
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.transcript import ProviderState, Reply, Served, ToolCall, arguments_text
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


REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""Fields in which servers put reasoning, in the order of reading."""


_WORDS = ("text", "thinking", "reasoning", "refusal")
"""Fields in which a content part has its text."""
_OWN_FIELDS = frozenset(("role", "content", "tool_calls", "function_call", "refusal", "annotations", "audio", "images"))


_OWN_CALL_FIELDS = frozenset(("id", "type", "function", "index", "name", "arguments", "input"))


def read_completion(body: Any, endings: str = "chat") -> Reply:
    """A response object (as parsed JSON) as a `Reply`; ``endings`` names the table of its words.

    Raises a retryable `AdapterError` ``malformed_body`` without a choice with a message, and for invalid calls, which
    must not count as no call; ``ending`` if it did not end normally. Calls without id get one by position; arguments
    given as an object become JSON text; a legacy ``function_call`` counts as a call; with an empty ``tool_calls`` list
    the text counts.
    """
    choice, message = _message(body)
    calls, call_fields = _calls(message)
    text, inline = _text(message.get("content"))
    check_size(text, calls)
    refusal = message.get("refusal")
    if not text and not calls and isinstance(refusal, str) and refusal:
        text = refusal
    usage = body.get("usage")
    field, reasoning = _reasoning(message)
    reply = Reply(
        text=text,
        tool_calls=tuple(calls),
        reasoning=reasoning or inline,
        input_tokens=count(usage, "prompt_tokens", "input_tokens"),
        output_tokens=count(usage, "completion_tokens", "output_tokens"),
        reasoning_tokens=reasoning_count(usage) or None,
        state=_state(message, field, call_fields, inline),
        served=served_by(body),
    )
    return ended(
        reply, last_word(choice), endings, reasoned=has_thoughts(message), filtered=is_marked(choice, body),
        trouble=chat_trouble(body, choice, message),
    )  # fmt: skip


def last_word(choice: Fields) -> object:
    """Why a choice ended, in the provider's own word if a gateway passes it on. litellm writes ``stop`` for every
    unknown word, so the provider's word decides. OpenRouter's own word is right except for an unreadable call, which it
    reports as an ordinary end.
    """
    finish = choice.get("finish_reason")
    specific = choice.get("provider_specific_fields")
    given = specific.get("native_finish_reason") if isinstance(specific, Mapping) else None
    native = choice.get("native_finish_reason")
    told_otherwise = ending_of(native) not in (Ending.NORMAL, Ending.CALLS, Ending.TROUBLE)
    return given if isinstance(given, str) else native if told_otherwise else finish


def _message(body: object) -> tuple[Fields, Fields]:
    choice = first_choice(body) or {}
    message = choice.get("message")
    if not isinstance(message, Mapping):
        empty = isinstance(body, Mapping) and body.get("choices") == []
        what = "an empty list of choices" if empty else "no choices[0].message"
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, f"the answer has {what}", retryable=True)
    return choice, message


def _calls(message: Fields) -> tuple[list[ToolCall], list[Parsed]]:
    """The calls, and for each its further fields besides name, arguments and id."""
    listed = message.get("tool_calls") or message.get("invalid_tool_calls") or []
    if not isinstance(listed, list) or not all(isinstance(item, Mapping) for item in listed):
        raise AdapterError(
            AdapterTrouble.MALFORMED_BODY, "the answer's tool_calls are no list of calls", retryable=True
        )
    calls: list[ToolCall] = []
    further: list[Parsed] = []
    for position, item in enumerate(listed):
        nested = item.get("function")
        function = nested if isinstance(nested, Mapping) else item
        calls.append(_call(function, identifier(item.get("id"), position)))
        further.append({k: v for k, v in item.items() if v is not None and k not in _OWN_CALL_FIELDS})
    legacy = message.get("function_call")
    if legacy and not isinstance(legacy, Mapping):
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, "the answer's function_call is no call", retryable=True)
    if not calls and legacy and (legacy.get("name") or legacy.get("arguments")):
        calls.append(_call(legacy, "call_0"))
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and str(part.get("type")).lower() in CALL_PARTS:
            nested = part.get("functionCall") or part.get("function")
            function = nested if isinstance(nested, Mapping) else part
            calls.append(_call(function, identifier(part.get("id"), len(calls))))
    return calls, further


def _call(function: Fields, call_id: str) -> ToolCall:
    arguments = next((function[name] for name in ("arguments", "input", "args") if name in function), None)
    # No arguments at all is how some servers write a call without parameters; "" is kept: it does not decode.
    text = "{}" if arguments is None else arguments_text(arguments)
    return ToolCall(str(function.get("name") or ""), text, call_id)


def _text(content: object) -> tuple[str | None, str | None]:
    """Text and inline reasoning of a ``content`` that is text, null or a list of parts."""
    if content is None or isinstance(content, str):
        return content, None
    if isinstance(content, int | float) and not isinstance(content, bool):
        return str(content), None
    if not isinstance(content, list):
        what = "the answer's content is neither text nor a list of parts"
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, what, retryable=True)
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            if part.get("type", "text") not in PARTS:  # what such a part says is no answer
                continue
            said = next((part[name] for name in _WORDS if part.get(name) is not None), None)
            if isinstance(said, list):  # Mistral nests the parts of a thought
                said = "".join(str(p.get("text", "")) for p in said if isinstance(p, Mapping))
            if isinstance(said, str):
                (thoughts if part.get("type") in ("thinking", "reasoning") else texts).append(said)
    return "".join(texts) if texts or not thoughts else None, "\n".join(thoughts) or None


def _reasoning(message: Fields) -> tuple[str | None, str | None]:
    """Field and text of reasoning, if a field has it; ``<think>`` inside the text stays there."""
    for key in REASONING_FIELDS:
        value = message.get(key)
        if isinstance(value, str) and value:
            return key, value
    return next((key for key in REASONING_FIELDS if message.get(key) == ""), None), None


def _state(message: Fields, field: str | None, call_fields: list[Parsed], inline: str | None) -> ProviderState | None:
    """The parts that must go back besides text and calls; ``None`` without any."""
    fields = {
        name: value
        for name, value in message.items()
        if name not in _OWN_FIELDS and name != field and value is not None and value != [] and not name.startswith("_")
    }
    content = message["content"] if inline else ()
    parts = tuple(content) if all(isinstance(part, Mapping) for part in content) else ()
    further = tuple(call_fields) if any(call_fields) else ()
    if not (field or fields or parts or further) or not keepable(fields, further, parts):
        return None
    return ProviderState("chat", field, fields, further, parts)


def read_text(body: Any) -> Reply:
    """A completion as a `Reply`: the raw text."""
    choice = first_choice(body) or {}
    text = choice.get("text")
    if not isinstance(text, str):
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, "the answer has no choices[0].text", retryable=True)
    check_size(text, [])
    usage = body.get("usage")
    reply = Reply(
        text=text,
        input_tokens=count(usage, "prompt_tokens", "input_tokens"),
        output_tokens=count(usage, "completion_tokens", "output_tokens"),
        reasoning_tokens=reasoning_count(usage) or None,
        served=served_by(body),
    )
    word, trouble = choice.get("finish_reason"), chat_trouble(body, choice, None)
    return ended(reply, word, "completions", filtered=is_marked(choice, body), trouble=trouble)
