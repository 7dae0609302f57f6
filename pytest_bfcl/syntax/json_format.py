"""JSON → calls: native calls, read as Python's ``json`` reads (ast_checker spec §2), and JSON replies (§3.5)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from pytest_bfcl.syntax.limits import MAX_DEPTH, DecodeError, WrongShape, check_depth, check_length
from pytest_bfcl.transcript import Call, Reply

_SCAN: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
"""The function under ``json.loads``; the wrapper takes half of its time."""


def decode_native(reply: Reply) -> list[Call]:
    """One `Call` per native call, in order. Raises `WrongShape` if some arguments are no object.

    Without calls the message text decides: the empty text is the empty list, anything else does not decode.
    """
    if reply.tool_calls:
        calls, shaped = [], True
        for call in reply.tool_calls:
            arguments = parse_json(call.arguments)
            shaped = shaped and type(arguments) is dict
            calls.append(Call(call.name, arguments))
        if not shaped:
            raise WrongShape([call.as_object() for call in calls])
        return calls
    if reply.text == "":
        return []
    raise DecodeError("no tool call: the reply is text" if reply.text else "no tool call and no text")


def parse_json(text: str) -> Any:
    """Parse JSON like Python's ``json`` (NaN and infinities allowed, exact integers up to 4300 digits).

    Raises `DecodeError` also for nesting beyond `MAX_DEPTH`.
    """
    if len(text) > MAX_DEPTH:  # shorter texts cannot nest deeper
        check_length(text)
        if text.count("[") + text.count("{") > MAX_DEPTH:
            check_depth(_without_strings(text))
    try:
        value, end = _SCAN(text, 0)
        if end == len(text):
            return value
    except (StopIteration, ValueError, RecursionError):
        pass  # told again below, in words
    try:
        return json.loads(text)  # white space around the value is fine
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not JSON: {error}") from None


def leading_json(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at ``start``, and its end. Raises `DecodeError` like `parse_json`."""
    check_length(text)
    try:
        value, end = _SCAN(text, start)
    except (StopIteration, ValueError, RecursionError) as error:
        raise DecodeError(f"not JSON: {error}") from None
    if text.count("[", start, end) + text.count("{", start, end) > MAX_DEPTH:
        check_depth(_without_strings(text[start:end]))
    return value, end


def _without_strings(text: str) -> str:
    """The text without JSON strings, so that brackets inside them do not count."""
    kept: list[str] = []
    outside = True
    for piece in text.replace("\\\\", "").replace('\\"', "").split('"'):
        if outside:
            kept.append(piece)
        outside = not outside
    return "".join(kept)


_DECODER = json.JSONDecoder()
_LIST_START = re.compile(r"\[\s*\{")
_VALUE_START = re.compile(r"[\[{]")
_MAX_STARTS = 50
_LIST_END = re.compile(r"\}\s*\]")


def decode_json(text: str, *, proper: bool = False, escapes: bool = False) -> list[dict[Any, Any]]:
    """One ``{function: parameters}`` per object of the list in a prepared text; text that is not JSON gives no call.

    ``proper`` is corrected rule C15: the first complete JSON list (or object) of calls counts, with any text after it.
    ``escapes`` is C3; an escaped underscore is never JSON. Raises `DecodeError` for an object without ``function`` or
    ``parameters``.
    """
    if escapes:
        text = text.replace("\\_", "_")
    if proper and (meant := _call_list(text)) is not None:
        return calls_of(meant)
    try:
        value = parse_json(_list_span(text))
    except DecodeError:
        return []
    return calls_of(value)


def calls_of(value: object) -> list[dict[Any, Any]]:
    """The calls in a parsed reply: objects of a list count, other elements are skipped; see `decode_json`."""
    if isinstance(value, (dict, str)):
        return []
    if not isinstance(value, list):
        raise DecodeError("the reply is neither a list nor an object")
    calls = []
    for item in value:
        if not isinstance(item, dict):
            continue
        try:
            calls.append({item["function"]: item["parameters"]})
        except KeyError as error:
            raise DecodeError(f"an object of the list has no key {error}") from None
        except TypeError as error:
            raise DecodeError(f"the function name is not a text: {error}") from None
    return calls


def _list_span(text: str) -> str:
    """The first ``[{ … }]`` up to the first ``}`` before a ``]`` (defect), else the widest ``[ … ]``, else the text."""
    start, end = text.find("["), text.rfind("]")
    if start < 0 or end < start:
        return text
    widest = text[start : end + 1]
    opening = _LIST_START.search(widest)
    closing = _LIST_END.search(widest, opening.end()) if opening else None
    return widest[opening.start() : closing.end()] if opening and closing else widest


def _call_list(text: str) -> list[Any] | None:
    """The first JSON list of call objects in the text, or the only single one; ``None`` without any."""
    position = 0
    singles: list[Any] = []
    for _ in range(_MAX_STARTS):
        found = _VALUE_START.search(text, position)
        if found is None:
            break
        try:
            value, position = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            position = found.start() + 1
            continue
        if isinstance(value, list) and value and all(map(_is_call, value)):
            return [] if _may_nest(text) and _too_deep(value) else value
        if _is_call(value):
            singles.append(value)
    return singles if len(singles) == 1 and not (_may_nest(text) and _too_deep(singles)) else None


def _is_call(value: object) -> bool:
    return isinstance(value, dict) and "function" in value and "parameters" in value


def _may_nest(text: str) -> bool:
    """Whether a text has so many brackets that `_too_deep` must read its values."""
    return text.count("[") + text.count("{") >= MAX_DEPTH - 1


def _too_deep(value: object) -> bool:
    """Whether containers nest deeper than `MAX_DEPTH`."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for holder in level
            if isinstance(holder, (dict, list))
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
        if not level:
            return False
    return True
