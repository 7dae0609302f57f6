"""Results of hosted models whose handlers store calls in shapes of their own (formats spec §4, "native variants").

These read stored results only; a live reply of such an endpoint arrives as native calls.
"""

from __future__ import annotations

from typing import Any

from pytest_bfcl.decoding.errors import DecodeError
from pytest_bfcl.decoding.formats.members import Pair, items, iterated, objects, pair, string_parsed, texts
from pytest_bfcl.decoding.native import parse_json


def native_calls(result: Any) -> list[Any]:
    """``{name: JSON text}`` objects; the empty text is the empty list, any other does not decode."""
    if result == "":
        return []
    if not isinstance(result, list):
        raise DecodeError("no tool call: the reply is text" if result else "no tool call and no text")
    return objects((name, _parsed(arguments)) for name, arguments in items(result))


def _parsed(arguments: Any) -> Any:
    return parse_json(arguments) if isinstance(arguments, str) else arguments


def native_texts(result: Any) -> list[str]:
    """The same as call texts."""
    return texts(items(native_calls(result)))


def mixed_calls(result: Any) -> list[Any]:
    """Nova and Gemini: calls hold parsed arguments; a text-only reply is a list of texts, which is no list of calls."""
    if not isinstance(result, list):
        return native_calls(result)
    return [member if not isinstance(member, dict) else dict(member) for member in result]


def mixed_texts(result: Any) -> list[str]:
    """The same as call texts; a list of texts raises."""
    return texts(string_parsed(items(result if isinstance(result, list) else native_calls(result))))


def cohere_pairs(result: Any) -> list[Pair]:
    """``{tool_name, parameters}`` objects; anything else is no call."""
    if not isinstance(result, list):
        return []
    pairs = []
    for member in result:
        if not isinstance(member, dict) or "tool_name" not in member or "parameters" not in member:
            raise DecodeError("a call without tool_name and parameters")
        pairs.append((member["tool_name"], member["parameters"]))
    return pairs


def cohere_calls(result: Any) -> list[Any]:
    """Cohere."""
    return objects(cohere_pairs(result))


def cohere_texts(result: Any) -> list[str]:
    """The same as call texts."""
    return texts(cohere_pairs(result))


def xiaoming_calls(result: Any) -> list[Any]:
    """xiaoming: stored as native calls, read as DM-Cito's, so calls never decode."""
    return objects(map(pair, iterated(result)))
