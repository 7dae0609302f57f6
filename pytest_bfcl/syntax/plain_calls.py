"""Plain call lists, most of what models write, read without a parser: ``[name(argument=literal, …), …]``.

`read_plain_calls` only ever answers for texts on which `pytest_bfcl.syntax.python_syntax` gives the same calls under
every rule set. They have keyword arguments only, strings on one line without escapes or prefixes, short decimal
numbers, ``True``, ``False``, ``None`` and flat lists of these. At the slightest doubt it has no answer and the parser
decides.
"""

from __future__ import annotations

import re
from keyword import kwlist
from typing import Any

from pytest_bfcl.transcript import Arguments, Call

_TEXT = r"[^{quote}\\\r\n\0\ud800-\udfff]*+"
_LITERAL = (
    rf"(?:'{_TEXT.replace('{quote}', chr(39))}'|\"{_TEXT.replace('{quote}', chr(34))}\""
    r"|-?(?:0|[1-9][0-9]{0,14}+)(?:\.[0-9]{1,15}+)?|True|False|None)"
)
# Each item of a list is followed by a comma and something more, or by the end: said so, an item stands in the pattern
# only once, which compiles in a quarter of the time.
_VALUE = rf"(?:{_LITERAL}|\[(?:{_LITERAL}(?:, *(?!\])|(?=\])))*+\])"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*+"
_ARGUMENTS = rf"(?:{_NAME} ?= ?{_VALUE}(?:, *(?!\))|(?=\))))*+"
_CALL = rf"{_NAME}(?:\.{_NAME})*+\({_ARGUMENTS}\)"

_PLAIN = re.compile(rf"\[ *(?:{_CALL}(?:,[ \n]*(?=[A-Za-z_])|(?= *\])))++ *\]")
_PARTS = re.compile(rf"({_NAME}(?:\.{_NAME})*+)\(|({_NAME}) ?= ?({_VALUE})")
"""In a plain call list: the name of each call, then its arguments; every match is where the whole pattern had it."""
_ELEMENTS = re.compile(_LITERAL)
_WORDS = {"True": True, "False": False, "None": None}
_RESERVED = frozenset(kwlist) | {"__debug__"}


def read_plain_calls(text: str) -> list[Call] | None:
    """The calls of a text that is a plain call list, ``None`` for any other; linear in the text's length."""
    if _PLAIN.fullmatch(text) is None:
        return None
    calls: list[Call] = []
    arguments: Arguments = {}
    for name, keyword, value in _PARTS.findall(text):
        if name:
            if name in _RESERVED or ("." in name and not _RESERVED.isdisjoint(name.split("."))):
                return None
            arguments = {}
            calls.append(Call(name, arguments))
        elif keyword in _RESERVED or keyword in arguments:
            return None
        elif value[0] in "'\"":
            arguments[keyword] = value[1:-1]
        else:
            arguments[keyword] = _value(value)
    return calls


def _value(text: str) -> Any:
    first = text[0]
    if first in "'\"":
        return text[1:-1]
    if first == "[":
        return [_value(element) for element in _ELEMENTS.findall(text)]
    if first in "TFN":
        return _WORDS[text]
    return float(text) if "." in text else int(text)
