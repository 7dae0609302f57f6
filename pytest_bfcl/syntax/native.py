"""Native tool calls → calls (ast_checker spec §2): every arguments text is JSON by the rules of Python's ``json``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pytest_bfcl.syntax.limits import MAX_DEPTH, DecodeError, WrongShape, check_depth, check_length
from pytest_bfcl.transcript import Call, Reply

_SCAN: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
"""What ``json.loads`` calls; half its cost is around it."""


def decode_native(reply: Reply) -> list[Call]:
    """One `Call` per native call, in order; raises `WrongShape` when some arguments are no object.

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
    """Parse JSON as Python's ``json`` does (NaN and infinities allowed, exact integers up to 4300 digits).

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
    """The JSON value that begins at ``start``, and where it ends; raises `DecodeError` as `parse_json` does."""
    check_length(text)
    try:
        value, end = _SCAN(text, start)
    except (StopIteration, ValueError, RecursionError) as error:
        raise DecodeError(f"not JSON: {error}") from None
    if text.count("[", start, end) + text.count("{", start, end) > MAX_DEPTH:
        check_depth(_without_strings(text[start:end]))
    return value, end


def _without_strings(text: str) -> str:
    """The text with JSON strings taken out, so that brackets inside them do not count."""
    kept: list[str] = []
    outside = True
    for piece in text.replace("\\\\", "").replace('\\"', "").split('"'):
        if outside:
            kept.append(piece)
        outside = not outside
    return "".join(kept)
