"""Which format a text with calls is written in: for advice, for blame, for refusing folders nobody can read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_bfcl.formats.served import NOTATIONS, TELLING, announced
from pytest_bfcl.formats.thinking import part
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.errors import DecodeError
from pytest_bfcl.transcript import Call, wire_name

LOOKED_AT = 50_000
"""Longest text that is searched; a lost call stands in a short one."""

_PLAIN = (('"parameters"', "llama3-json"), ('"arguments"', "xlam"), ("(", "pythonic"), ("\n{", "functionary32"))
"""Formats without marks of their own: only the name of an offered function makes a call of a text that fits them."""


_TURNS = (
    "</tool_call>", "</function>", "<parameter=", "<arg_key>", "functools[", "[TOOL_RESULTS]", "<tool▁", "<｜tool",
    "<|tool", "<|function", "<|plugin|>", "<|channel|>", "<|message|>", "<|call|>", "<|start|>", "<|im_start|>",
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>",
)  # fmt: skip
SIGNS = tuple(
    dict.fromkeys(
        [mark for name in TELLING for mark in NOTATIONS[name].marks if re.search(r"[<\[=]", mark)] + list(_TURNS)
    )
)
"""What stands around calls and turns in models' own formats; none of it belongs into an answer's text."""


def sign_in(text: str) -> str | None:
    """The first sign of a model's own format in a text."""
    return next((sign for sign in SIGNS if sign in text), None)


def lost_calls(text: str, functions: Sequence[Fields] = ()) -> tuple[str, list[Call]] | None:
    """The format of the calls in a text, and the calls; ``None`` when none is found.

    Without ``functions`` any name may be one. `reading_name` says which decoder reads the format so.
    """
    if len(text) > LOOKED_AT or not text.strip():
        return None
    answer = part(text, "served").answer
    for name in announced(answer):
        if calls := _calls_by(answer, name, functions):
            return name, calls
    offered = {wire_name(str(function.get("name"))) for function in functions}
    for sign, name in _PLAIN:
        calls = _calls_by(answer, name, functions) if sign in answer else []
        anyone = not offered and name != "functionary32"  # a word on a line of its own may be anything
        if calls and (anyone or any(wire_name(call.name) in offered for call in calls)):
            return name, calls
    return None


def _calls_by(text: str, name: str, functions: Sequence[Fields]) -> list[Call]:
    try:
        pairs = NOTATIONS[name].pairs(text, functions)
    except DecodeError:
        return []
    return [Call(call, arguments) for call, arguments in pairs if isinstance(arguments, dict)]
