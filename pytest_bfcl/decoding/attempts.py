"""Corrected rule C8: does a reply without a decodable call attempt one?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_bfcl.decoding.reply import ReplyDecoder
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import MAX_CHARACTERS, DecodeError
from pytest_bfcl.transcript import Mode, Reply, wire_name

_TAGS = re.compile(
    r"<TOOLCALL>|<tool_?calls?>|<function_?calls?>|<functions>|<function\s*=|<function\s+name\s*=|<invoke\s+name\s*="
    r"|<\|python_tag\|>|<\|tool_?calls?(?:_begin)?\|>|\[TOOL_CALLS\]",
    re.IGNORECASE,
)
"""Signs with which models announce a call in their own formats."""
_BRACKETED = re.compile(r"\A[\s`]*(?:\w+[ \t]*\r?\n\s*)?\[\s*[A-Za-z_][\w.\\]*\s*\(")
"""A reply that begins with a list of calls, readable or not."""
_LINE = re.compile(
    r"^[ \t]{0,8}(?:[-*][ \t]{1,4}|\d{1,3}\.[ \t]{1,4})?[`\[(]{0,4}[ \t]{0,4}([A-Za-z_][\w.\\]*)\(", re.MULTILINE
)
_LISTED = re.compile(r"\[\s{0,8}([A-Za-z_][\w.\\]*)\(")
_OBJECT = re.compile(r"\{\s*\"")
_NAME_KEYS = ("function", "name", "tool", "tool_name", "function_name", "action")
_ARGUMENT_KEYS = ("parameters", "arguments", "args", "input", "tool_input", "action_input", "kwargs")
_MAX_OBJECTS = 50
_DECODER = json.JSONDecoder()


def attempts_call(
    reply: Reply, mode: Mode, functions: Sequence[Fields] = (), decoder: ReplyDecoder | None = None
) -> bool:
    """Whether a reply calls, or tries to: a broken call, one in another format, a tagged one, one inside prose.

    Naming an offered function in a sentence is no attempt. A call counts at the start of the reply, on its own line, in
    a list, fence or tag, or as a JSON object with name and arguments. ``decoder`` saves work if the reply was already
    read as Python text.
    """
    if reply.tool_calls:
        return True
    text = reply.text
    if not text or len(text) > MAX_CHARACTERS:
        return False
    if decoder is None or mode != "prompt":
        decoder = ReplyDecoder(Reply(text=text), "prompt", functions=functions)
    if decoder.calls_if_any("corrected"):
        return True
    if _TAGS.search(text) or _BRACKETED.search(text):
        return True
    offered = _spellings(functions)
    return _names_a_call(text, offered) or any(_is_call_object(value, offered) for value in _objects(text))


def _spellings(functions: Iterable[Fields]) -> frozenset[str]:
    names = {str(document.get("name", "")) for document in functions} - {""}
    return frozenset(names | {wire_name(name) for name in names})


def _names_a_call(text: str, offered: frozenset[str]) -> bool:
    """Whether an offered function is called at the start of a line or of a bracketed list."""
    for pattern in (_LINE, _LISTED):
        for found in pattern.finditer(text):
            if found.group(1).replace("\\", "") in offered:
                return True
    return False


def _objects(text: str) -> Iterator[Any]:
    """JSON objects in a text, from left to right, only outermost ones."""
    position = 0
    for _ in range(_MAX_OBJECTS):
        found = _OBJECT.search(text, position)
        if found is None:
            return
        try:
            value, position = _DECODER.raw_decode(text, found.start())
            yield value
        except (ValueError, RecursionError):
            position = found.end()


def _is_call_object(value: object, offered: frozenset[str]) -> bool:
    """``{"name": …, "arguments": {…}}`` in one of its usual spellings, or ``{offered name: {…}}``."""
    if not isinstance(value, dict):
        return False
    inner = value.get("function")
    if isinstance(inner, dict) and _is_call_object(inner, offered):
        return True
    for key in _NAME_KEYS:
        name = value.get(key)
        if isinstance(name, str) and any(_are_arguments(value.get(other)) for other in _ARGUMENT_KEYS):
            return True
    return any(key in offered and isinstance(item, dict) for key, item in value.items())


def _are_arguments(value: object) -> bool:
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except DecodeError:
            return False
    return isinstance(value, dict)
