"""What the body of a reply may hold: known blocks and items, their status, and the places where an error may stand.

One allow-list per API, asked by the readers of live and streamed replies and by those of objects and stored bodies.
What is not on it is trouble: an error stays one whatever ending stands beside it, and a block of another kind is no
answer where nothing else was said. The words are those of the providers' public references (November 2026).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from pytest_bfcl.json_types import Fields

View = Callable[[object], Fields | None]
"""The fields of a value, ``None`` where it has none."""


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

_ERRORS = ("error", "errors")
_FAILED = frozenset(
    ("abort", "aborted", "canceled", "cancelled", "error", "exception", "expired", "failed", "failure", "timeout")
)
"""Words of a status, or of a provider's own ending beside the gateway's, that mean the reply was broken off."""
_UNFINISHED = frozenset(("in_progress", "incomplete", "queued", "running", "pending"))


def chat_trouble(body: Fields, choice: Fields, message: Fields | None, view: View | None = None) -> Trouble:
    """That of a chat completion, or (without ``message``) of a text completion."""
    view = view or mapping
    error = _error_in(body, choice, message or {}) or _status_of(body) or _status_of(choice, ("status",))
    native = choice.get("native_finish_reason")
    if error is None and isinstance(native, str) and native.strip().lower() in _FAILED:
        error = native
    content = (message or {}).get("content")
    kinds = list(_kinds(content if isinstance(content, list | tuple) else (), view))
    return _of_kinds(error, kinds, PARTS)


def blocks_trouble(body: Fields, view: View | None = None) -> Trouble:
    """That of one of Anthropic's messages."""
    view = view or mapping
    content = body.get("content")
    kinds = list(_kinds(content if isinstance(content, list | tuple) else (), view))
    return _of_kinds(_error_in(body), kinds, BLOCKS)


def items_trouble(body: Fields, items: Iterable[object], view: View | None = None) -> Trouble:
    """That of a Responses object; its own status is an ending and not looked at here, but for items beside it."""
    view = view or mapping
    views = [each for item in items if (each := view(item)) is not None]
    error = _error_in(body, *views)
    if error is None and _word(body.get("status")) in ("completed", ""):
        error = next(
            (f"{_word(each.get('type'))}: {status}" for each in views
             if (status := _word(each.get("status"))) in _UNFINISHED | _FAILED and _word(each.get("type")) in ITEMS),
            None,
        )  # fmt: skip
    return _of_kinds(error, [_word(each.get("type")) for each in views], ITEMS)


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


def mapping(value: object) -> Fields | None:
    """A mapping as it is."""
    return value if isinstance(value, Mapping) else None


def _of_kinds(error: str | None, kinds: list[str], known: frozenset[str]) -> Trouble:
    if error is None and "error" in kinds:
        error = "error"
    return Trouble(error, next((kind for kind in kinds if kind not in known), None))


def _kinds(parts: Iterable[object], view: View) -> Iterator[str]:
    for part in parts:
        fields = view(part)
        if fields is not None and (kind := _word(fields.get("type"))):
            yield kind


def _error_in(*places: Fields) -> str | None:
    """The first error that stands in one of the places."""
    for place in places:
        for name in _ERRORS:
            if place.get(name):
                return "error"
    return None


def _status_of(body: Fields, names: tuple[str, ...] = ("status", "state")) -> str | None:
    """What a provider's own status beside the choices says against the reply."""
    for name in names:
        if (status := _word(body.get(name))) in _FAILED | _UNFINISHED:
            return f"{name}: {status}"
    if body.get("success") is False:
        return "success: false"
    base = body.get("base_resp")
    code = base.get("status_code") if isinstance(base, Mapping) else None
    return f"status_code: {code}" if type(code) is int and code != 0 else None


def _word(value: object) -> str:
    return value.strip().lower().replace("-", "_") if isinstance(value, str) else str(getattr(value, "value", "") or "")
