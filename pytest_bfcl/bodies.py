"""What the body of a reply may hold: known blocks and items, their status, and the places where an error may stand.

One allow-list per API, asked by its one reader (`pytest_bfcl.answers`).
What is not on it is trouble: an error stays one whatever its ending is, and a block of another kind is no
answer where nothing else was said. The words are those of the providers' public references (November 2026).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pytest_bfcl.json_types import Fields


class Trouble(NamedTuple):
    """Why a body is no normal reply. ``error``: whatever else it says; ``silent``: where nothing was said beside it."""

    error: str | None = None
    silent: str | None = None


NO_TROUBLE = Trouble()

PARTS = frozenset(("text", "output_text", "thinking", "reasoning", "refusal"))
"""Parts of a chat message's content that say something."""
BLOCKS = frozenset(("text", "thinking", "redacted_thinking", "tool_use"))
"""Blocks of Anthropic's messages that say something."""
ITEMS = frozenset(("message", "reasoning", "function_call"))
"""Output items of Responses that a model which is offered functions answers with."""

GEMINI_PARTS = frozenset(("text", "functionCall", "function_call"))
"""Fields by which a part of Gemini's says something."""

_ERRORS = ("error", "errors", "error_code", "error_msg", "error_message")
_FLAGS = ("is_error", "timed_out", "cancelled", "canceled", "aborted", "interrupted", "incomplete", "truncated")
"""Fields that mean the reply was broken off when they are true."""
_ERROR_FIELDS = frozenset((*_ERRORS, *_FLAGS))
_KIND_FIELDS = frozenset(("object", "type"))
_STATUS_FIELDS = frozenset(("success", "base_resp", "status", "status_code", "code"))
_OTHERS = frozenset(("user", "system", "tool", "developer", "function"))
"""Roles of messages that no model says."""
_UNSPOKEN = ("audio", "images")
"""Fields of a chat message that answer without words."""
_FAILED = frozenset(
    ("abort", "aborted", "canceled", "cancelled", "error", "exception", "expired", "failed", "failure", "timeout")
)
"""Words of a status, or of a provider's own ending beside the gateway's, that mean the reply was broken off."""
_UNFINISHED = frozenset(("in_progress", "incomplete", "queued", "running", "pending"))
_FINE_CODES = frozenset(("", "0", "200", "ok", "success"))
"""Codes of a provider's own that mean all is well."""


def chat_trouble(body: Fields, choice: Fields, message: Fields | None) -> Trouble:
    """That of a chat completion, or (without ``message``) of a text completion."""
    message = message or {}
    calls = [each for each in _listed(message.get("tool_calls")) if isinstance(each, Mapping)]
    places = [body, choice, message, *calls]
    fields = [
        inner for place in (choice, message) if isinstance(inner := place.get("provider_specific_fields"), Mapping)
    ]
    error = _error_in(*places, *fields) or _status_of(body) or next(filter(None, map(_status_at, places)), None)
    native = choice.get("native_finish_reason")
    if error is None and isinstance(native, str) and native.strip().lower() in _FAILED:
        error = native
    if error is None and _word(message.get("role")) in _OTHERS:
        error = f"role: {_word(message.get('role'))}"
    unspoken = next((name for name in _UNSPOKEN if message.get(name)), None)
    return _of_kinds(error, [*_kinds(_listed(message.get("content"))), *filter(None, [unspoken])], PARTS)


def lasting_trouble(event: Fields, choice: Fields) -> str | None:
    """What one chunk of a stream says against the whole reply; that something still goes on is no trouble yet."""
    error = chat_trouble(event, choice, None).error
    return None if error is None or error.rpartition(": ")[2] in _UNFINISHED else error


def blocks_trouble(body: Fields) -> Trouble:
    """That of one of Anthropic's messages."""
    content = _listed(body.get("content"))
    error = _error_in(body, *(each for each in content if isinstance(each, Mapping))) or _status_at(body)
    if error is None and _word(body.get("role")) in _OTHERS:
        error = f"role: {_word(body.get('role'))}"
    return _of_kinds(error, list(_kinds(content, texts=False)), BLOCKS)


def items_trouble(body: Fields, items: Iterable[Fields]) -> Trouble:
    """That of a Responses object; its own status is an ending and not looked at here, but for items beside it."""
    items = list(items)
    said = [each for each in items if _word(each.get("type")) == "message"]
    parts = [part for each in said for part in _listed(each.get("content"))]
    error = _error_in(body, *items)
    if error is None and _word(body.get("status")) in ("completed", ""):
        error = next(
            (f"{_word(each.get('type'))}: {status}" for each in items
             if (status := _word(each.get("status"))) in _UNFINISHED | _FAILED and _word(each.get("type")) in ITEMS),
            None,
        )  # fmt: skip
    if error is None:
        error = next((f"role: {role}" for each in said if (role := _word(each.get("role"))) in _OTHERS), None)
    found = _of_kinds(error, [_word(each.get("type")) for each in items], ITEMS)
    return found if found != NO_TROUBLE else _of_kinds(None, list(_kinds(parts)), PARTS)


def record_trouble(record: Fields) -> str | None:
    """What a proxy's or tracer's own record says against the reply in it: an error, a status, a level."""
    if (error := _error_in(record)) is not None:
        return error
    for name in ("exception", "error_str", "error_message", "error_information"):
        if record.get(name):
            return name
    for name in ("level", "status", "state", "outcome"):
        if (said := _word(record.get(name))) in _FAILED | _UNFINISHED:
            return f"{name}: {said}"
    return _status_of(record)


def candidate_trouble(body: Fields, candidate: Fields, parts: Iterable[Fields]) -> Trouble:
    """That of a response of Gemini's."""
    unknown = next((part for part in parts if GEMINI_PARTS.isdisjoint(part)), None)
    kind = None if unknown is None else next((str(name) for name, value in unknown.items() if value is not None), "")
    return Trouble(_error_in(body, candidate) or _status_at(candidate), kind)


def _of_kinds(error: str | None, kinds: list[str], known: frozenset[str]) -> Trouble:
    if error is None and "error" in kinds:
        error = "error"
    return Trouble(error, next((kind for kind in kinds if kind not in known), None))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _kinds(parts: Iterable[object], *, texts: bool = True) -> Iterator[str]:
    """What each part says it is; empty for one that says nothing. ``texts``: a plain text is a part."""
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


def _error_in(*places: Fields) -> str | None:
    """The first error that stands in one of the places."""
    for place in places:
        if not _KIND_FIELDS.isdisjoint(place) and "error" in (_word(place.get("object")), _word(place.get("type"))):
            return "error"
        if _ERROR_FIELDS.isdisjoint(place):  # of nearly every body
            continue
        if any(place.get(name) for name in _ERRORS):
            return "error"
        if found := next((name for name in _FLAGS if place.get(name) is True), None):
            return found
    return None


def _status_at(place: Fields) -> str | None:
    """What a status says against the part of a reply that it stands in."""
    for name in ("status", "state"):
        if name in place and (status := _word(place[name])) in _FAILED | _UNFINISHED:
            return f"{name}: {status}"
    return None


def _status_of(body: Fields) -> str | None:
    """What a provider's own status beside the choices says against the reply."""
    if _STATUS_FIELDS.isdisjoint(body):
        return None
    if body.get("success") is False:
        return "success: false"
    base = body.get("base_resp")
    code = base.get("status_code") if isinstance(base, Mapping) else None
    if type(code) is int and code != 0:
        return f"status_code: {code}"
    for name in ("status", "status_code", "code"):
        value = body.get(name)
        if type(value) is int and value not in (0, 200):
            return f"{name}: {value}"
    code = body.get("code")
    return f"code: {code}" if isinstance(code, str) and _word(code) not in _FINE_CODES else None


def _word(value: object) -> str:
    return value.strip().lower().replace("-", "_") if isinstance(value, str) else ""
