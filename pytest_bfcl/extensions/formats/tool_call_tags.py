"""Calls inside ``<tool_call>`` tags: Qwen and Hermes, Arch, Falcon (formats spec §4).

Calls behind ``<|tool_call|>``: Granite 3 (one list) and Phi-4 (blocks), read before decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_bfcl.formats.members import (
    Pair,
    ReadError,
    items,
    literal,
    objects,
    pair,
    spans,
    stored,
    string_parsed,
    texts,
)
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.native import parse_json

OPENING, CLOSING = "<tool_call>", "</tool_call>"
LINE_OPENING, LINE_CLOSING = "<tool_call>\n", "\n</tool_call>"


def tagged_values(text: str) -> list[Any]:
    """The JSON values inside tags that stand with line feeds; broken ones are dropped."""
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
    calls = objects(map(pair, tagged_values(_text(text))))
    for name, arguments in items(calls):
        if not isinstance(arguments, dict):
            raise DecodeError(f"arguments of {str(name)[:200]} are not an object")
    return calls


def hermes_texts(text: object) -> list[str]:
    """The same as call texts; arguments written as text are JSON."""
    return texts(string_parsed(items(objects(map(pair, tagged_values(_text(text)))))))


def read_arch(text: str) -> Any:
    """*tool_call-strict*, at read time: a list of ``{name: arguments}``, or the text when there is no tag."""
    values = [_lenient(inside) for inside in spans(text, LINE_OPENING, LINE_CLOSING)]
    return read_objects(values) if values else text


def _lenient(inside: str) -> Any:
    value = _json_or_text(inside)
    if not isinstance(value, str):
        return value
    try:
        return literal(value)
    except DecodeError as error:
        raise ReadError(str(error)) from None


def read_objects(values: list[Any]) -> list[dict[Any, Any]]:
    """`objects` of members read before decoding; what is wrong with one is a `ReadError`."""
    try:
        return objects(map(pair, values))
    except DecodeError as error:
        raise ReadError(str(error)) from None


def listed_calls(result: object) -> list[Any]:
    """A list made at read time as it stands; a text does not decode."""
    return stored(_listed(result))  # type: ignore[no-any-return]


def _listed(result: object) -> list[Any]:
    if not isinstance(result, list):
        raise DecodeError("no call in the text")
    return result


def listed_texts(result: object) -> list[str]:
    """The same as call texts; arguments written as text are JSON."""
    return texts(string_parsed(items(_listed(result))))


def falcon_pairs(text: object) -> list[Pair]:
    """*tool_call-first*: the JSON value or list behind the first tag, a fence around it or not."""
    text = _text(text)
    if OPENING not in text:
        raise DecodeError("no <tool_call> in the text")
    inside = text.split(OPENING, 2)[1].split(CLOSING, 1)[0].strip()
    if inside.startswith("```") and inside.endswith("```"):
        inside = inside.strip("`").strip().removeprefix("json").strip()
    value = parse_json(inside)
    return [pair(member) for member in (value if isinstance(value, list) else [value])]


def falcon_calls(text: object) -> list[Any]:
    """The calls of *tool_call-first*."""
    return objects(falcon_pairs(text))


def falcon_texts(text: object) -> list[str]:
    """The same as call texts."""
    return texts(falcon_pairs(text))


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise DecodeError("the result is no text")
    return text


BAR, BAR_CLOSING = "<|tool_call|>", "<|/tool_call|>"
_KEYS = {"name", "arguments"}


def read_granite3(text: str) -> Any:
    """*bar-list*: the list of ``{name: arguments}``, or the text as it came where that is not what it holds."""
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
    return [_member(member) for member in value]


def _member(member: object) -> Any:
    if not isinstance(member, str):
        return member
    try:
        return literal(member)
    except DecodeError as error:
        raise ReadError(str(error)) from None


def read_phi(text: str) -> Any:
    """*bar-blocks*: the calls of all blocks together, or the text as it came."""
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
