"""Text → Java value, as the reference converts it (ast_checker spec §8.1).

`convert` returns an unrecognised text unchanged. All searches are linear in the length of the text, which models write.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from pytest_bfcl.checkers.scanning import Finder, find_spans, python_number, skip_space
from pytest_bfcl.json_types import Parsed

_INTEGER = re.compile(r"^-?\d+$")
_LONG = re.compile(r"^-?\d+[lL]$")
_DOUBLE = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_FLOAT = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")

_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{")
_AS_LIST = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\(")
_DOUBLE_BRACE = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{")
_EMPTY_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ADD = re.compile(r"add\(")


def convert(text: str, word: str, element: str | None = None) -> Any:
    """The value of ``text`` for a documented type; ``element`` is the documented type of list elements."""
    converter = _CONVERTERS.get(word)
    if converter is not None:
        try:
            return converter(text)
        except ValueError:  # an integer of more than 4300 digits: the reference raises
            return text
    if word == "Array":
        return _array(text, element or "any")
    if word == "ArrayList":
        return _array_list(text, element or "any")
    if word == "HashMap":
        return _hash_map(text)
    return text


def _integer(text: str) -> Any:
    return int(text) if _INTEGER.match(text) else text


def _long(text: str) -> Any:
    return int(text.rstrip("\n")[:-1]) if _LONG.match(text) else text


def _float(text: str) -> Any:
    return float(text.rstrip("\n")[:-1]) if _FLOAT.match(text) else text


def _double(text: str) -> Any:
    return float(text) if _DOUBLE.match(text) else text


def _boolean(text: str) -> Any:
    return {"true": True, "false": False}.get(text, text)


def _text(text: str) -> Any:
    return text


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    "byte": _integer,
    "short": _integer,
    "integer": _integer,
    "long": _long,
    "float": _float,
    "double": _double,
    "boolean": _boolean,
    "char": _text,
    "String": _text,
    "any": _text,
}


def _array(text: str, element: str) -> Any:
    found = next(find_spans(text, _ARRAY, "}", one_line=True), None)
    if found is None:
        return text
    pieces = (piece.strip() for piece in found.body.split(","))
    return [convert(piece, element) for piece in pieces if piece]


def _array_list(text: str, element: str) -> Any:
    found = next(find_spans(text, _AS_LIST, "))", one_line=True, at_least=1), None)
    if found is not None:
        return [_list_element(piece.strip(), element) for piece in found.body.split(",")]
    found = next(find_spans(text, _DOUBLE_BRACE, "}}"), None)
    if found is not None:
        adds = find_spans(found.body, _ADD, ")", one_line=True, at_least=1)
        return [_list_element(add.body.strip(), element) for add in adds]
    return [] if _EMPTY_LIST.search(text) else text


def _list_element(piece: str, element: str) -> Any:
    if element in ("String", "char"):
        piece = piece[1:-1]  # quoted or not
    return convert(piece, element)


def _hash_map(text: str) -> Any:
    body = _map_body(text)
    if body is None:
        return text
    result: Parsed = {}
    for key, value in _puts(body):
        result[key] = _map_value(value)
    return result


_MAP_HEAD = re.compile(r"new\s+HashMap<")
_MAP_BODY = re.compile(r">\s*\(\)\s*\{")
_MAP_EMPTY = re.compile(r">\s*\(\)")


def _map_body(text: str) -> str | None:
    """The text up to the first ``}`` behind ``new HashMap<…>() {``, or ``""`` for an empty map, or ``None``.

    Anything may be between the angle brackets, for the empty map without a line break.
    """
    head = _MAP_HEAD.search(text)
    if head is None:
        return None
    tail = _MAP_BODY.search(text, head.end())
    if tail is not None:
        end = text.find("}", tail.end())
        if end != -1:
            return text[tail.end() : end]
    return "" if _is_empty_map(text) else None


def _is_empty_map(text: str) -> bool:
    """Whether a map head is followed, with its ``>`` on the same line, by ``()``."""
    tails = [tail.start() for tail in _MAP_EMPTY.finditer(text)]
    for head in _MAP_HEAD.finditer(text):
        nearest = bisect_left(tails, head.end())
        if nearest < len(tails) and text.find("\n", head.end(), tails[nearest]) == -1:
            return True
    return False


def _puts(body: str) -> list[tuple[str, str]]:
    """Key and value of every ``put("key", value)``, in order: each on one line, a line break only between them."""
    found: list[tuple[str, str]] = []
    line_end, comma = Finder(body, "\n"), Finder(body, '",')
    values, last_values = _ValueEnds(body), _ValueEnds(body)
    position, line, last = 0, -1, -1
    while (head := body.find('put("', position)) >= 0:
        start = position = head + 5
        end = line_end(start)
        if line != end:
            # Only a key at the end of its line can have its value on a later one.
            line, text = end, body[start:end].rstrip()
            last = start + len(text) - 2 if text.endswith('",') else -1
        for candidate, ends in ((comma(start), values), (last, last_values)):
            if not start <= candidate < end:
                continue
            value_start, close = ends(candidate + 2)
            if close >= 0:
                found.append((body[start:candidate], body[value_start:close].strip()))
                position = close + 1
                break
    return found


class _ValueEnds:
    """Start and end of the value after a key: it ends at the first ``)`` of its line, -1 without one."""

    def __init__(self, body: str) -> None:
        self._body = body
        self._close, self._line_end = Finder(body, ")"), Finder(body, "\n")

    def __call__(self, start: int) -> tuple[int, int]:
        start = skip_space(self._body, start)
        close = self._close(start)
        return start, close if close < min(self._line_end(start), len(self._body)) else -1


def _map_value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    for pattern, kind in ((_LONG, int), (_FLOAT, float)):
        if pattern.match(text):
            try:
                return kind(text[:-1])
            except ValueError:  # more than 4300 digits: the reference raises
                return text
    number = python_number(text)
    return text if number is None else number
