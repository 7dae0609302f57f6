"""Replies → call texts, for conversations that execute calls (multi_turn spec §2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_bfcl.decoding.errors import DecodeError
from pytest_bfcl.decoding.limits import MAX_CALLS, check_length
from pytest_bfcl.decoding.native import parse_json
from pytest_bfcl.decoding.preparation import prepare
from pytest_bfcl.decoding.python_syntax import decode_python
from pytest_bfcl.transcript import Arguments, Mode, Reply


def call_texts(reply: Reply, mode: Mode) -> list[str]:
    """The calls of one step as texts such as ``cd(folder='a')``, in order; the turn ends when the list `is_empty`.

    Raises `DecodeError` when the reply does not decode (then the turn ends as well): in native mode one broken call
    spoils the whole step.
    """
    if mode == "fc":
        return _native(reply)
    if reply.text is None:
        raise DecodeError("the reply has no text")
    check_length(reply.text)
    calls = decode_python(prepare(reply.text))
    _check_count(len(calls))
    return [_written(*call) for call in calls]


def is_empty(texts: Sequence[str]) -> bool:
    """Predicate E: no call, or one empty text."""
    return len(texts) == 0 or (len(texts) == 1 and len(texts[0]) == 0)


def _native(reply: Reply) -> list[str]:
    if not reply.tool_calls:
        if reply.text == "":
            return []
        raise DecodeError("no tool call: the reply is text" if reply.text else "no tool call and no text")
    _check_count(len(reply.tool_calls))
    texts = []
    for call in reply.tool_calls:
        arguments = parse_json(call.arguments)
        if not isinstance(arguments, dict):
            raise DecodeError(f"arguments of {call.name[:200]} are not an object")
        texts.append(f"{call.name}({','.join(f'{key}={value!r}' for key, value in arguments.items())})")
    return texts


def _check_count(calls: int) -> None:
    if calls > MAX_CALLS:
        raise DecodeError(f"{calls} calls in one reply; at most {MAX_CALLS} are executed")


def _written(name: object, arguments: Arguments) -> str:
    """``name(key=value, …)``."""
    return f"{name}({', '.join(f'{key}={_value(value)}' for key, value in arguments.items())})"


def _value(value: Any) -> str:
    """A value as source text, with the reference's defects for mappings outside lists.

    Keys become texts without regard to quotes in them, a mapping of mappings is misread as a nested call, of which
    whatever follows the first item is lost, the empty mapping fails.
    """
    if not isinstance(value, dict):
        return repr(value)
    if not value:
        raise DecodeError("an empty mapping as argument")
    if all(isinstance(item, dict) for item in value.values()):
        return _written(*next(iter(value.items())))
    return "{" + ", ".join([f"'{key}': {_value(item)}" for key, item in value.items()]) + "}"
