"""Calls behind ``<|tool_call|>``: Granite 3 (one list) and Phi-4 (blocks), read before decoding (formats spec §4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_bfcl.extensions.formats.tool_call_tags import read_objects
from pytest_bfcl.formats.members import ReadError, literal, spans
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.native import parse_json

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
    return _listed(inside.strip())


def _listed(inside: str) -> list[Any]:
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
    return [member for block in blocks for member in _listed(block)]


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
