"""JSON replies of format sensitivity → calls (ast_checker spec §3.5)."""

from __future__ import annotations

import re
from typing import Any

from pytest_bfcl.decoding.errors import DecodeError
from pytest_bfcl.decoding.native import parse_json

_LIST_START = re.compile(r"\[\s*\{")
_LIST_END = re.compile(r"\}\s*\]")


def decode_json(text: str) -> list[dict[Any, Any]]:
    """One ``{function: parameters}`` per object of the list in a prepared text; text that is not JSON gives no call.

    Raises `DecodeError` for an object without ``function`` or ``parameters``.
    """
    try:
        value = parse_json(_list_span(text))
    except DecodeError:
        return []
    return calls_of(value)


def calls_of(value: Any) -> list[dict[Any, Any]]:
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
