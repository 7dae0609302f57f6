"""Results of hosted models whose handlers store calls in their own shapes (formats spec §4, "native variants").

These read stored results only; a live reply of such an endpoint arrives as native calls.
"""

from __future__ import annotations

from typing import Any

from pytest_bfcl.formats.members import Pair, items, iterated, objects, pair, string_parsed, texts
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.native import parse_json


def native_calls(result: object) -> list[Any]:
    """``{name: JSON text}`` objects; the empty text is the empty list, any other does not decode."""
    if result == "":
        return []
    if not isinstance(result, list):
        raise DecodeError("no tool call: the reply is text" if result else "no tool call and no text")
    return objects((name, _parsed(arguments)) for name, arguments in items(result))


def _parsed(arguments: object) -> Any:
    return parse_json(arguments) if isinstance(arguments, str) else arguments


def native_texts(result: object) -> list[str]:
    """The same as call texts."""
    return texts(items(native_calls(result)))


def mixed_calls(result: Any) -> list[Any]:
    """Nova and Gemini: calls hold parsed arguments; a text-only reply is a list of texts, which is no list of calls."""
    return [result] * bool(result) if isinstance(result, str) else list(result)


def mixed_texts(result: object) -> list[str]:
    """The same as call texts; a list of texts raises."""
    if not isinstance(result, list):
        if result == "":
            return []
        raise DecodeError("no tool call: the reply is text")
    return texts(string_parsed(items(result)))


def cohere_pairs(result: object) -> list[Pair]:
    """Calls stored as ``{tool_name, parameters}``; anything else is no call."""
    return list(items(result)) if isinstance(result, list) else []


def cohere_calls(result: object) -> list[Any]:
    """Cohere."""
    return objects(cohere_pairs(result))


def cohere_texts(result: object) -> list[str]:
    """The same as call texts."""
    return texts(cohere_pairs(result))


def xiaoming_calls(result: object) -> list[Any]:
    """xiaoming: stored as native calls, read as DM-Cito's, so calls never decode."""
    return objects(map(pair, iterated(result)))
