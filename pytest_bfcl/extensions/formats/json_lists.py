"""Calls as a bare JSON list: Hammer, xLAM, BitAgent, Mistral, ThinkAgent, DM-Cito; Llama 3.1 (formats spec §4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_bfcl.formats.members import Pair, ReadError, after, iterated, literal, objects, pair, spans, texts
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.native import parse_json


def _text(result: object) -> str:
    if not isinstance(result, str):
        raise DecodeError("the result is no text")
    return result


# Hammer: a list without fence; anything that is not JSON is the empty list.


def _hammer_value(result: object) -> Any:
    try:
        return parse_json(_text(result).replace("```", ""))
    except DecodeError:
        return []


def hammer_calls(result: object) -> list[Any]:
    """*lenient list*."""
    return objects(map(pair, iterated(_hammer_value(result))))


def hammer_texts(result: object) -> list[str]:
    """The calls of *lenient list* as texts: an object stands for its ``tool_calls``, members without name are fine."""
    return texts(_defaulted(_hammer_value(result)), ", ")


def _defaulted(value: object) -> Iterator[Pair]:
    if isinstance(value, dict):
        value = value.get("tool_calls", [])
        value = value if isinstance(value, list) else [value]
    for member in value if isinstance(value, list) else []:
        if isinstance(member, dict):
            yield member.get("name", ""), member.get("arguments", {})


# BitAgent and xLAM: JSON, or JSON pieces between semicolons.


def _json_list(result: object) -> list[Pair]:
    value = parse_json(_text(result))
    return [pair(member) for member in (value if isinstance(value, list) else [value])]


def bitagent_calls(result: object) -> list[Any]:
    """*JSON list*."""
    return objects(_json_list(result))


def bitagent_texts(result: object) -> list[str]:
    """The same as call texts."""
    return texts(_json_list(result))


def _xlam_pairs(result: object) -> list[Pair]:
    text = _text(result)
    try:
        value = parse_json(text)
    except DecodeError:
        value = [parse_json(piece.strip()) for piece in text.split(";")]
    return [pair(member) for member in (value if isinstance(value, list) else [value])]


def xlam_calls(result: object) -> list[Any]:
    """*JSON list or ``;``*."""
    return objects(_xlam_pairs(result))


def xlam_texts(result: object) -> list[str]:
    """The same as call texts."""
    return texts(_xlam_pairs(result))


# Mistral: JSON at read time.


def read_mistral(text: str) -> Any:
    """*parsed JSON*: a list of ``{name: arguments}``; a text that is not JSON stays one."""
    try:
        value = parse_json(text)
    except DecodeError:
        return text
    try:
        return objects(map(pair, iterated(value)))
    except DecodeError as error:
        raise ReadError(str(error)) from None


# ThinkAgent: JSON behind its thoughts, in any quotes.


def _thinkagent_pairs(result: object) -> list[Pair]:
    text = _text(result).strip().replace("'", '"')
    inside = after(text, "</think>")
    return [] if inside is None else [pair(member) for member in iterated(parse_json(inside))]


def thinkagent_calls(result: object) -> list[Any]:
    """*after-think*."""
    return objects(_thinkagent_pairs(result))


def thinkagent_texts(result: object) -> list[str]:
    """Execution of *after-think*: a defect of the handler makes every call fail."""
    if _thinkagent_pairs(result):
        raise DecodeError("calls of this family cannot be executed by its handler")
    return []


# DM-Cito.


def read_mining(text: str) -> Any:
    """*tool_calls list*: the JSON value inside the first tag, or of the whole text, or the text."""
    inside = next(spans(text, "<tool_calls>\n", "\n</tool_calls>"), None)
    inside = text if inside is None else inside.strip()
    try:
        return parse_json(inside)
    except DecodeError:
        return inside


def mining_calls(result: object) -> list[Any]:
    """The calls of *tool_calls list*; a non-empty text raises."""
    return objects(map(pair, iterated(result)))


def mining_texts(result: object) -> list[str]:
    """The same as call texts, lenient as Hammer's."""
    if not isinstance(result, (list, dict, str)):
        raise DecodeError("no list of calls")
    return texts(_defaulted(result if isinstance(result, list) else []), ", ")


# Llama 3.1.


def _llama_pairs(result: object) -> list[Pair]:
    text = _text(result).replace("<|python_tag|>", "")
    if ";" in text:
        members: list[Any] = [parse_json(piece) for piece in text.split(";")]
    else:
        value = literal(text)
        members = [value] if isinstance(value, dict) else iterated(value)
    return [pair(member, "parameters") for member in members]


def llama_calls(result: object) -> list[Any]:
    """*name-parameters*: a Python literal, or JSON pieces between semicolons."""
    return objects(_llama_pairs(result))


def llama_texts(result: object) -> list[str]:
    """The same as call texts."""
    return texts(_llama_pairs(result))
