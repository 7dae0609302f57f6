"""Which format a text with calls is written in: for advice, for blame, for refusing folders nobody can read."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bfcl.decoding.errors import DecodeError
from pytest_bfcl.decoding.formats.mended import mended_calls
from pytest_bfcl.decoding.formats.own_calls import own_calls
from pytest_bfcl.decoding.formats.table import find_decoder
from pytest_bfcl.decoding.formats.thinking import strip
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Call, Reply

LOOKED_AT = 50_000
"""Longest text that is searched; a lost call stands in a short one."""

_MARKS: tuple[tuple[str, str], ...] = (
    ("<function=", "qwen-coder"),
    ("<arg_key>", "glm45"),
    ("<tool_call>", "hermes"),
    ("<｜tool▁call▁begin｜>", "deepseek"),
    ("to=functions.", "harmony"),
    ("[TOOL_CALLS]", "mistral"),
    ("<|tool_call_begin|>", "kimi"),
    ("<|tool_call|>", "granite3"),
    ("<|tool_call_start|>", "minicpm3"),
    ("<start_function_call>", "functiongemma"),
    ("<function_call>", "granite20b"),
    ("<|python_tag|>[", "pythonic"),
    ("<TOOLCALL>", "toolcall-json"),
    ("<TOOLCALL>", "toolcall"),
    ('"parameters"', "llama3-json"),
    ('"arguments"', "xlam"),
    ("(", "pythonic"),
)
"""What stands in a text of a format, the first that fits; the last ones only where the whole text is calls."""

_PLAIN = frozenset(('"parameters"', '"arguments"', "("))
"""Marks that other texts have, too: only the name of an offered function makes a call of them."""


def lost_calls(text: str, functions: Sequence[Fields] = ()) -> tuple[str, list[Call]] | None:
    """The decoder that finds calls in a text, and the calls; ``None`` when none does.

    Without ``functions`` any name may be one.
    """
    if len(text) > LOOKED_AT:
        return None
    offered = {str(function.get("name")).replace(".", "_") for function in functions}
    for mark, name in _MARKS:
        if mark in text:
            calls = _found(text, name, functions)
            known = mark not in _PLAIN or not offered or any(call.name.replace(".", "_") in offered for call in calls)
            if calls and known:
                return name, calls
    return None


def _found(text: str, name: str, functions: Sequence[Fields]) -> list[Call]:
    decoder = find_decoder(name)
    reply = Reply(text=text if decoder.thinking == "harmony" else strip(text).answer)
    try:
        if decoder.served:
            return own_calls(reply, decoder, functions)
        return mended_calls(reply, name)
    except DecodeError:
        return []
