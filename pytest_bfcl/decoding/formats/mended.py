"""Calls of models' own formats read as the format means them (corrected rule C15): no family's defects.

Every call that the text announces must be readable; prose holds none. Notations are recognised by their marks, so that
a neighbouring family's spelling (tags without line feeds, a fence, JSON's true and false) does not matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pytest_bfcl.decoding.errors import DecodeError
from pytest_bfcl.decoding.formats.members import literal, spans
from pytest_bfcl.decoding.limits import MAX_CALLS, check_depth, check_length
from pytest_bfcl.decoding.native import decode_native, parse_json
from pytest_bfcl.decoding.python_syntax import decode_python
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.transcript import Call, Reply

_REGIONS = (
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<TOOLCALL>", "</TOOLCALL>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("<function_call>", "<function_call>"),
)
_BEHIND = ("<tool_call>", "<|tool_call|>", "[TOOL_CALLS]", "<|python_tag|>", "</think>", "<function_call>")
_ENDS = re.compile(r"(?:<\|(?:eot_id|eom_id|im_end|end|end_of_text|endoftext|observation|user)\|>|</s>|<eos>|\s)+\Z")
_FENCE = re.compile(r"\A\s*```[a-zA-Z_]*\s*\n?|\n?\s*```\s*\Z")
_GAP = re.compile(r"[\s,;\[\]]*")
_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "parameters")
_SCANNER = json.JSONDecoder()


def mended_calls(reply: Reply, decoder: str) -> list[Call]:
    """The calls of a reply in the format of the named decoder; raises `DecodeError` without any or for broken ones."""
    if reply.tool_calls:
        return decode_native(reply)
    text = reply.text
    if text is None:
        raise DecodeError("the reply has no text")
    check_length(text)
    text = _ENDS.sub("", text[-200:]) if len(text) <= 200 else text[:-200] + _ENDS.sub("", text[-200:])
    reader = _READERS.get(decoder)
    calls = reader(text) if reader else _json_calls(text)
    if not calls:
        raise DecodeError("no call in the text")
    return calls[:MAX_CALLS]


def _json_calls(text: str) -> list[Call]:
    """Calls written as JSON objects, in tags, behind a mark, or as the whole text."""
    regions = _regions(text)
    return [call for region in regions for call in _objects(region)]


def _regions(text: str) -> list[str]:
    for opening, closing in _REGIONS:
        found = list(spans(text, opening, closing)) if opening != closing else text.split(opening)[1:]
        if found:
            return found
    for mark in _BEHIND:
        if mark in text:
            return [text.rpartition(mark)[2] if mark == "</think>" else text.partition(mark)[2]]
    return [text]


def _objects(region: str) -> Iterator[Call]:
    """The objects of a region, between brackets, commas and semicolons; anything else breaks it."""
    region = _FENCE.sub("", _FENCE.sub("", region)).strip()
    check_depth(region)
    position = _gap(region, 0)
    while position < len(region):
        try:
            value, position = _SCANNER.raw_decode(region, position)
        except (ValueError, RecursionError):
            yield from _literals(region)
            return
        yield _call(value)
        position = _gap(region, position)


def _gap(text: str, position: int) -> int:
    found = _GAP.match(text, position)
    return found.end() if found else position


def _literals(region: str) -> Iterator[Call]:
    """The same written with Python's quotes and words."""
    value = literal(region)
    for member in value if isinstance(value, (list, tuple)) else [value]:
        yield _call(member)


def _call(member: object) -> Call:
    if not isinstance(member, dict):
        raise DecodeError("something else than a call among the calls")
    function = member.get("function")
    if isinstance(function, dict):
        member = function
    name = next((member[key] for key in _NAMES if isinstance(member.get(key), str)), function)
    arguments: Any = next((member[key] for key in _ARGUMENTS if key in member), {})
    if isinstance(arguments, str):
        arguments = parse_json(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise DecodeError("a call needs a name and an object of arguments")
    return Call(name, arguments)


def json_pairs(region: str) -> list[tuple[str, Parsed]]:
    """Name and arguments of every object of a region of JSON; raises `DecodeError`."""
    return [(name, arguments) for name, arguments in _objects(region)]


def _lines(text: str) -> list[Call]:
    """GLM-4: every pair of lines is a call."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) % 2:
        raise DecodeError("a name without arguments on the next line")
    return [
        _call({"name": name.strip(), "arguments": line}) for name, line in zip(lines[::2], lines[1::2], strict=True)
    ]


def _minicpm(text: str) -> list[Call]:
    from pytest_bfcl.decoding.formats.text_lines import statement_calls

    text = text.rpartition("<|thought_end|>")[2]
    inside = next(spans(text, "<|tool_call_start|>", "<|tool_call_end|>"), None)
    if inside is None:
        raise DecodeError("no call in the text")
    return statement_calls(_FENCE.sub("", _FENCE.sub("", inside)).strip())


def _gemma(text: str) -> list[Call]:
    from pytest_bfcl.decoding.formats.gemma_call import gemma_pairs

    return [Call(str(name), arguments) for name, arguments in gemma_pairs(text)]


def _thinkagent(text: str) -> list[Call]:
    inside = text.rpartition("</think>")[2].strip()
    return list(_objects(inside))


def python_inside(text: str) -> list[Call]:
    """Python calls in a text that is nothing else, its list's brackets there or not."""
    text = text.strip()
    return decode_python(text if text.startswith("[") else f"[{text}]")


def _toolcall(text: str) -> list[Call]:
    return [call for inside in spans(text, "<TOOLCALL>", "</TOOLCALL>") for call in python_inside(inside)]


_READERS = {
    "toolcall": _toolcall,
    "glm4": _lines,
    "minicpm3": _minicpm,
    "functiongemma": _gemma,
    "thinkagent": _thinkagent,
}
