"""What the body of a reply may hold: known blocks and items, their status, and the fields where an error may be.

One allow-list per API, used by that API's reader (`pytest_bfcl.answers`). Anything else makes the reply an error. An
error stays one with any ending. A reply with only unknown blocks is no answer. The words are those of the providers'
public references (November 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from pytest_bfcl.json_types import Fields


class Trouble(NamedTuple):
    """Why a body is no normal reply. ``error``: it reports an error; ``silent``: an error only if the reply has no
    content."""

    error: str | None = None
    silent: str | None = None


NO_TROUBLE = Trouble()

PARTS = frozenset(("text", "output_text", "thinking", "redacted_thinking", "reasoning", "refusal"))
"""Parts of a chat message's content that have text for the user."""
CALL_PARTS = frozenset(("tool_use", "tool_call", "tool-call", "function_call", "functioncall"))
"""Parts of a chat message's content that are calls, as gateways to other APIs return them."""
_CHAT_PARTS = PARTS | CALL_PARTS
BLOCKS = frozenset(("text", "thinking", "redacted_thinking", "tool_use"))
"""Blocks of Anthropic's messages that have content."""
ITEMS = frozenset(("message", "reasoning", "function_call"))
"""Output items of Responses that a model returns when it is offered functions."""

GEMINI_PARTS = ("text", "functionCall", "function_call")
"""Fields that give a Gemini part its content."""

_USUAL = frozenset((
    "annotations", "arguments", "call_id", "choices", "content", "created", "created_at", "delta", "finish_reason",
    "function", "function_call", "id", "incomplete_details", "index", "input", "logprobs", "message", "model",
    "name", "object", "output", "reasoning", "reasoning_content", "refusal", "role", "service_tier", "signature",
    "stop_reason", "stop_sequence", "summary", "system_fingerprint", "text", "thinking", "token_ids", "tool_calls",
    "type", "usage",
))  # fmt: skip
"""Fields whose names never report an error."""
_ERROR_NAME = re.compile(
    r"err(?:or)?s?(?:code|no|number|msg|message|type|info|information|details?|str|text|reason)?|(?!no)\w*(?:error|exception)s?"
    r"|failure\w*|fault"
)
_BROKEN_NAME = re.compile(
    r"(?:is|was|has)?(?:timedout|cancell?ed|abort|aborted|interrupted|incomplete|truncated|failed|rejected|terminated)"
)
_WHOLE_NAME = re.compile(r"(?:is)?(?:success|successful|succeeded|ok|complete|completed|done|finished)")
_CODE_NAME = re.compile(r"(?:(?:http)?status|ret|return|result)?code")
_STATUS_NAMES = frozenset(("status", "state", "outcome", "runstatus", "responsestatus"))
_INSIDE_NAMES = frozenset(("baseresp", "header", "providerspecificfields"))
"""Objects next to a reply that hold the provider's own status."""
_Place = Literal["error", "broken", "whole", "code", "status", "inside"]
_STATUS = ("status", "code")

_SPEAKERS = frozenset(("", "assistant", "model", "ai", "bot", "chatbot"))
"""Message roles of a model."""
_UNSPOKEN = ("audio", "images")
"""Fields of a chat message that hold an answer without text."""
_CALLS_NAME = re.compile(r"(?:tool|function)calls?")
_READ_CALLS = ("tool_calls", "function_call", "invalid_tool_calls")
_THOUGHT_NAME = re.compile(r"(?i)reasoning|thinking|thought|analysis")
_BROKEN = re.compile(
    r"abort|cancel|crash|denied|error|exception|expire|fail|fatal|(?<![a-z])fault|interrupt|invalid|kill|overload|refused|reject"
    r"|terminat|throttl|time_?d?_?out|unavailable"
)
"""Words in a status, or in a provider's ending next to the gateway's, that mean the reply was cut off."""
_UNFINISHED = frozenset((
    "active", "generating", "in_progress", "incomplete", "partial", "pending", "processing", "queued", "running",
    "started", "streaming",
))  # fmt: skip
_FINE = frozenset((
    "0", "200", "complete", "completed", "done", "ended", "finished", "fine", "none", "normal", "null", "ok",
    "okay", "ready", "stop", "stopped", "succeeded", "success", "successful", "true", "unset",
))  # fmt: skip
"""Words of a status or a code that mean success."""
_LEVELS = frozenset(("critical", "fatal", "severe", "emergency", "alert"))


def chat_trouble(body: Fields, choice: Fields, message: Fields | None) -> Trouble:
    """The problem of a chat completion, or (without ``message``) of a text completion."""
    message = message or {}
    calls = [each for each in _listed(message.get("tool_calls")) if isinstance(each, Mapping)]
    error = _first(place_trouble(body), place_trouble(choice), place_trouble(message), *map(_item_trouble, calls))
    if _USUAL.issuperset(choice) and _USUAL.issuperset(message):  # as of nearly every reply
        error = error or _role_trouble(message)
        content = message.get("content")
        return _of_kinds(error, list(_kinds(content)) if isinstance(content, list) else [], _CHAT_PARTS)
    details = choice.get("finish_details")
    for native in (choice.get("native_finish_reason"), details.get("type") if isinstance(details, Mapping) else None):
        if error is None and (_BROKEN.search(_word(native)) or _word(native) in _UNFINISHED):
            error = str(native)
    error = error or _role_trouble(message) or _unread_calls(message)
    unspoken = next((name for name in _UNSPOKEN if message.get(name)), None)
    kinds = [*_kinds(_listed(message.get("content"))), *filter(None, [unspoken])]
    return _of_kinds(error, kinds, _CHAT_PARTS)


def lasting_trouble(event: Fields, choice: Fields) -> str | None:
    """The problem that one chunk of a stream reports; "in progress" is not a problem."""
    if event.keys() <= _USUAL and choice.keys() <= _USUAL and event.get("object") != "error":  # as nearly every chunk
        return None
    native = _word(choice.get("native_finish_reason"))
    told = native if _BROKEN.search(native) else None
    return _first(*(place_trouble(each, lasting=True) for each in (event, choice)), told)


def has_thoughts(message: Fields) -> bool:
    """Whether a chat message has thoughts in any field or part, in any shape."""
    content = message.get("content")
    kinds = _kinds(content) if isinstance(content, list) else ()
    named = [name for name, value in message.items() if value and isinstance(name, str)]
    told = "\n".join((*named, *kinds))
    return _has_thought(told) if len(told) <= _LONGEST_WORD else _THOUGHT_NAME.search(told) is not None


@lru_cache(maxsize=1024)
def _has_thought(names: str) -> bool:
    return _THOUGHT_NAME.search(names) is not None


def blocks_trouble(body: Fields) -> Trouble:
    """The problem of one of Anthropic's messages."""
    content = _listed(body.get("content"))
    blocks = [each for each in content if isinstance(each, Mapping)]
    error = _first(place_trouble(body), *map(_item_trouble, blocks), _role_trouble(body))
    return _of_kinds(error, list(_kinds(content, texts=False)), BLOCKS)


def items_trouble(body: Fields, items: Iterable[Fields]) -> Trouble:
    """The problem of a Responses object. Its own status is an ending and is read elsewhere."""
    items = list(items)
    said = [each for each in items if _word(each.get("type")) == "message"]
    whole = _word(body.get("status")) in ("completed", "")
    rest = {name: value for name, value in body.items() if name != "status"}
    inside = (_item_trouble(each, status=whole and _word(each.get("type")) in ITEMS) for each in items)
    error = _first(place_trouble(rest), *inside, *map(_role_trouble, said))
    found = _of_kinds(error, [_word(each.get("type")) for each in items], ITEMS)
    parts = [part for each in said for part in _parts(each.get("content"))]
    return found if found != NO_TROUBLE else _of_kinds(None, list(_kinds(parts)), PARTS)


def candidate_trouble(body: Fields, candidate: Fields, parts: Iterable[Fields]) -> Trouble:
    """The problem of a Gemini response."""
    content = candidate.get("content")
    if content is not None and not isinstance(content, Mapping):
        return Trouble(place_trouble(candidate), "content")
    unknown = next((part for part in parts if all(part.get(name) is None for name in GEMINI_PARTS)), None)
    kind = None if unknown is None else next((str(name) for name, value in unknown.items() if value is not None), "")
    return Trouble(_first(place_trouble(body), place_trouble(candidate), _role_trouble(content or {})), kind)


def record_trouble(record: Fields) -> str | None:
    """The problem that a proxy's or tracer's record reports about its reply: an error, a status, a level."""
    level = _word(record.get("level"))
    if _BROKEN.search(level) or level in _LEVELS:
        return f"level: {level}"
    return place_trouble(record)


def is_error(value: object) -> bool:
    """Whether the value of an error field reports an error; objects of only nulls, zeros and "ok" do not."""
    if isinstance(value, Mapping):
        return any(map(is_error, value.values()))
    if isinstance(value, list):
        return any(map(is_error, value))
    if isinstance(value, str):
        return bool(value.strip()) and _word(value) not in _FINE and _word(value) != "false"
    return bool(value) and value != 200


def place_trouble(place: Fields, *, codes: bool = True, status: bool = True, lasting: bool = False) -> str | None:
    """The problem that the fields of one place report: an error, a flag, a status or a code of the provider.

    ``codes``, ``status``: whether fields of that kind count here. ``lasting``: leave out what a later piece may finish.
    """
    if "error" in (_word(place.get("object")), _word(place.get("type"))):
        return "error"
    if _USUAL.issuperset(place):  # of nearly every body
        return None
    found: dict[str, str] = {}
    for name, value in place.items():
        kind = _kind_of(name) if isinstance(name, str) and name not in _USUAL and value is not None else None
        if kind == "inside" and isinstance(value, Mapping):
            told = place_trouble(value, lasting=lasting)
        elif kind is None or (kind == "code" and not codes) or (kind == "status" and not status):
            continue
        else:
            told = _told(kind, name, value, lasting)
        if told is not None:
            found.setdefault(kind, told)
    return found.get("error") or next(iter(found.values()), None)


@lru_cache(maxsize=1024)
def _kind_of(name: str) -> _Place | None:
    """What a field's name says it holds, in any spelling (``errorCode``, ``error_code``, ``Error-Code``)."""
    plain = re.sub(r"[\W_]+", "", name).lower()
    if plain in _STATUS_NAMES:
        return "status"
    if plain in _INSIDE_NAMES:
        return "inside"
    patterns: dict[_Place, re.Pattern[str]] = {
        "error": _ERROR_NAME, "broken": _BROKEN_NAME, "whole": _WHOLE_NAME, "code": _CODE_NAME,
    }  # fmt: skip
    return next((kind for kind, pattern in patterns.items() if pattern.fullmatch(plain)), None)


def _told(kind: _Place, name: str, value: object, lasting: bool) -> str | None:
    word = _word(value)
    if kind == "error":
        return "error" if is_error(value) else None
    if kind == "broken":
        return name if value is True or word == "true" or word not in _FINE | {"", "false"} else None
    if kind == "whole":
        unfinished = not name.lower().endswith(("ok", "success", "successful", "succeeded"))
        return f"{name}: false" if (value is False or word == "false") and not (lasting and unfinished) else None
    return _status(name, value, lasting)


def _status(name: str, value: object, lasting: bool) -> str | None:
    """A status or code that does not mean success. ``lasting``: only those that no later piece can finish."""
    if isinstance(value, Mapping):  # {"code": 1} is OpenTelemetry's for all is well
        inside = {str(key): each for key, each in value.items() if each != 1 and _kind_of(str(key)) in _STATUS}
        return _first(*(_status(f"{name}.{key}", each, lasting) for key, each in inside.items()))
    if isinstance(value, str) and not value.strip().isdecimal():
        word = _word(value)
        ill = word and word not in _FINE and (not lasting or _BROKEN.search(word))
        return f"{name}: {word}" if ill else None
    if isinstance(value, str):
        value = int(value[:9])
    if value is False or (isinstance(value, int) and value is not True and value != 0 and not 200 <= value < 300):
        return f"{name}: {value}"
    return None


def _first(*found: str | None) -> str | None:
    return next(filter(None, found), None)


def _item_trouble(item: Fields, *, status: bool = True) -> str | None:
    """The problem of a call, block or item: a ``code`` is no status there."""
    return place_trouble(item, codes=False, status=status)


def _role_trouble(message: Fields) -> str | None:
    role = _word(message.get("role"))
    return None if role in _SPEAKERS else f"role: {role}"


def _unread_calls(message: Fields) -> str | None:
    """Calls under a field name that no reader knows."""
    names = (name for name, value in message.items() if value and isinstance(name, str) and name not in _READ_CALLS)
    return next((name for name in names if _CALLS_NAME.fullmatch(name.replace("_", "").lower())), None)


def _of_kinds(error: str | None, kinds: list[str], known: frozenset[str]) -> Trouble:
    if error is None and "error" in kinds:
        error = "error"
    return Trouble(error, next((kind for kind in kinds if kind not in known), None))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _parts(content: object) -> list[object]:
    """The parts of a message that must have some."""
    return content if isinstance(content, list) else [content]


def _kinds(parts: Iterable[object], *, texts: bool = True) -> Iterator[str]:
    """The type that each part names; empty for a part without one. ``texts``: a plain text is a part."""
    for part in parts:
        if isinstance(part, Mapping):
            kind = _word(part.get("type"))
            words = part.get("text")
            if kind in ("text", "output_text") and not isinstance(words, str | list):
                yield f"{kind} without words"
            else:
                yield kind or ("text" if isinstance(words, str) else "")
        elif not (texts and isinstance(part, str)):
            yield ""


def _word(value: object) -> str:
    return _normal(value[:_LONGEST_WORD]) if isinstance(value, str) else ""


_LONGEST_WORD = 1000


@lru_cache(maxsize=1024)
def _normal(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")
