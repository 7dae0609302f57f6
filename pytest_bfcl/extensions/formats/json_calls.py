"""Handlers that read calls as JSON: bare lists, lists behind thoughts, values in tags (formats spec §4).

Bare lists: Hammer, xLAM, BitAgent, Mistral, ThinkAgent, DM-Cito, Llama 3.1. In ``<tool_call>`` tags: Qwen and Hermes,
Arch, Falcon. Behind ``<|tool_call|>``: Granite 3 (one list) and Phi-4 (blocks), read before decoding. A function that
gives pairs has both of a handler's readings: for single-turn checking, and as call texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pytest_bfcl.formats.members import (
    Pair,
    ReadError,
    after,
    items,
    iterated,
    literal,
    objects,
    pair,
    spans,
    stored,
    string_parsed,
    texts,
)
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError


def text_result(result: object) -> str:
    """A result that is the reply's text. Raises `DecodeError` for any other."""
    if not isinstance(result, str):
        raise DecodeError("the result is no text")
    return result


def read_objects(values: Iterable[Any]) -> list[dict[Any, Any]]:
    """`objects` of members read before decoding; a faulty one raises `ReadError`."""
    try:
        return objects(map(pair, values))
    except DecodeError as error:
        raise ReadError(str(error)) from None


def _listed(value: object) -> list[Any]:
    """A single value counts as a list of one."""
    return value if isinstance(value, list) else [value]


def _literal(text: str) -> Any:
    try:
        return literal(text)
    except DecodeError as error:
        raise ReadError(str(error)) from None


# -- bare lists ------------------------------------------------------------------------------------------------------


def _hammer_value(result: object) -> Any:
    """A list without fence; anything that is not JSON is the empty list."""
    try:
        return parse_json(text_result(result).replace("```", ""))
    except DecodeError:
        return []


def hammer_calls(result: object) -> list[Any]:
    """*lenient list*."""
    return objects(map(pair, iterated(_hammer_value(result))))


def hammer_texts(result: object) -> list[str]:
    """The calls of *lenient list* as texts: an object gives its ``tool_calls``, members without name are accepted."""
    return texts(_defaulted(_hammer_value(result)), ", ")


def _defaulted(value: object) -> Iterator[Pair]:
    if isinstance(value, dict):
        value = _listed(value.get("tool_calls", []))
    for member in value if isinstance(value, list) else []:
        if isinstance(member, dict):
            yield member.get("name", ""), member.get("arguments", {})


def bitagent_pairs(result: object) -> list[Pair]:
    """*JSON list*."""
    return list(map(pair, _listed(parse_json(text_result(result)))))


def xlam_pairs(result: object) -> list[Pair]:
    """*JSON list or ``;``*: JSON, or JSON pieces between semicolons."""
    text = text_result(result)
    try:
        value = parse_json(text)
    except DecodeError:
        value = [parse_json(piece.strip()) for piece in text.split(";")]
    return list(map(pair, _listed(value)))


def read_mistral(text: str) -> Any:
    """*parsed JSON*, at read time: a list of ``{name: arguments}``; a text that is not JSON stays one."""
    try:
        value = parse_json(text)
    except DecodeError:
        return text
    try:
        return read_objects(iterated(value))
    except DecodeError as error:
        raise ReadError(str(error)) from None


def thinkagent_pairs(result: object) -> list[Pair]:
    """*after-think*: JSON behind its thoughts, in any quotes."""
    inside = after(text_result(result).strip().replace("'", '"'), "</think>")
    return [] if inside is None else [pair(member) for member in iterated(parse_json(inside))]


def thinkagent_texts(result: object) -> list[str]:
    """Execution of *after-think*: a defect of the handler makes every call fail."""
    if thinkagent_pairs(result):
        raise DecodeError("calls of this family cannot be executed by its handler")
    return []


def read_mining(text: str) -> Any:
    """*tool_calls list*: the JSON value inside the first tag, or of the whole text, or the text."""
    inside = next(spans(text, "<tool_calls>\n", "\n</tool_calls>"), None)
    return _json_or_text(text if inside is None else inside.strip())


def mining_calls(result: object) -> list[Any]:
    """The calls of *tool_calls list*; a non-empty text raises."""
    return objects(map(pair, iterated(result)))


def mining_texts(result: object) -> list[str]:
    """The same as call texts, lenient as Hammer's."""
    if not isinstance(result, (list, dict, str)):
        raise DecodeError("no list of calls")
    return texts(_defaulted(result if isinstance(result, list) else []), ", ")


def llama_pairs(result: object) -> list[Pair]:
    """*name-parameters*: a Python literal, or JSON pieces between semicolons."""
    text = text_result(result).replace("<|python_tag|>", "")
    if ";" in text:
        members: list[Any] = [parse_json(piece) for piece in text.split(";")]
    else:
        value = literal(text)
        members = [value] if isinstance(value, dict) else iterated(value)
    return [pair(member, "parameters") for member in members]


# -- in tags ---------------------------------------------------------------------------------------------------------

OPENING, CLOSING = "<tool_call>", "</tool_call>"
LINE_OPENING, LINE_CLOSING = "<tool_call>\n", "\n</tool_call>"


def tagged_values(text: str) -> list[Any]:
    """The JSON values inside tags with line feeds; broken ones are dropped."""
    values = []
    for inside in spans(text, LINE_OPENING, LINE_CLOSING):
        try:
            values.append(parse_json(inside))
        except DecodeError:
            continue
    return values


def tagged_inside(text: str) -> list[Any]:
    """The insides of the same tags, parsed where they are JSON and as texts where they are not."""
    return [_json_or_text(inside) for inside in spans(text, LINE_OPENING, LINE_CLOSING)]


def _json_or_text(inside: str) -> Any:
    try:
        return parse_json(inside)
    except DecodeError:
        return inside


def hermes_calls(text: object) -> list[Any]:
    """*tool_call*: everything outside tags is ignored, so prose is the empty list."""
    calls = objects(map(pair, tagged_values(text_result(text))))
    for name, arguments in items(calls):
        if not isinstance(arguments, dict):
            raise DecodeError(f"arguments of {str(name)[:200]} are not an object")
    return calls


def hermes_texts(text: object) -> list[str]:
    """The same as call texts; arguments written as text are JSON."""
    return texts(string_parsed(items(objects(map(pair, tagged_values(text_result(text)))))))


def read_arch(text: str) -> Any:
    """*tool_call-strict*, at read time: a list of ``{name: arguments}``, or the text when there is no tag."""
    values = [_lenient(inside) for inside in spans(text, LINE_OPENING, LINE_CLOSING)]
    return read_objects(values) if values else text


def _lenient(inside: str) -> Any:
    value = _json_or_text(inside)
    return _literal(value) if isinstance(value, str) else value


def listed_calls(result: object) -> list[Any]:
    """A list from read time, unchanged; a text does not decode."""
    if not isinstance(result, list):
        raise DecodeError("no call in the text")
    return stored(result)  # type: ignore[no-any-return]


def listed_texts(result: object) -> list[str]:
    """The same as call texts; arguments written as text are JSON."""
    if not isinstance(result, list):
        raise DecodeError("no call in the text")
    return texts(string_parsed(items(result)))


def falcon_pairs(text: object) -> list[Pair]:
    """*tool_call-first*: the JSON value or list behind the first tag, a fence around it or not."""
    text = text_result(text)
    if OPENING not in text:
        raise DecodeError("no <tool_call> in the text")
    inside = text.split(OPENING, 2)[1].split(CLOSING, 1)[0].strip()
    if inside.startswith("```") and inside.endswith("```"):
        inside = inside.strip("`").strip().removeprefix("json").strip()
    value = parse_json(inside)
    return list(map(pair, _listed(value)))


BAR, BAR_CLOSING = "<|tool_call|>", "<|/tool_call|>"
_KEYS = {"name", "arguments"}


def read_granite3(text: str) -> Any:
    """*bar-list*: the list of ``{name: arguments}``, or the unchanged text if it holds something else."""
    return _accepted(text, lambda: _granite3_values(text))


def _granite3_values(text: str) -> list[Any]:
    text = text.lstrip("AINST:").lstrip()  # the letters of the role, in any order
    if "<tool_call>" in text:
        inside = text.replace("</tool_call>", "").partition("<tool_call>")[2]
    elif BAR in text:
        inside = text.partition(BAR)[2]
    else:
        raise DecodeError("no call in the text")
    return _members(inside.strip())


def _members(inside: str) -> list[Any]:
    """The members of a list that may lack both brackets; members written as text are literals."""
    if not inside.startswith("[") and not inside.endswith("]"):
        inside = f"[{inside}]"
    value = parse_json(inside)
    if not isinstance(value, list):
        raise DecodeError("no list of calls")
    return [_literal(member) if isinstance(member, str) else member for member in value]


def read_phi(text: str) -> Any:
    """*bar-blocks*: the calls of all blocks together, or the unchanged text."""
    return _accepted(text, lambda: _phi_values(text))


def _phi_values(text: str) -> list[Any]:
    blocks = list(spans(text, BAR, BAR_CLOSING))
    if not blocks and BAR in text:
        blocks = [text.partition(BAR)[2].removesuffix("\n")]
    return [member for block in blocks for member in _members(block)]


def _accepted(text: str, read: Callable[[], list[Any]]) -> Any:
    try:
        values = read()
    except ReadError:
        raise
    except DecodeError:
        return text
    if not values or not all(isinstance(value, dict) and set(value) == _KEYS for value in values):
        return text
    return read_objects(values)
