"""Text → JavaScript value, as the reference converts it (ast_checker spec §8.2).

`convert` returns an unrecognised text unchanged (for ``array`` and ``dict`` trimmed). All searches are linear in the
length of the text, which models write.
"""

from __future__ import annotations

import re
from typing import Any

from pytest_bfcl.checkers.scanning import line_end_from, python_number, skip_space

_INTEGER = re.compile(r"^-?\d+$")
_FLOAT = re.compile(r"^-?\d+(\.\d+)?$")
_BIGINT = re.compile(r"^-?\d+n$")
_INNER = re.compile(r"\[([^\]]*)\]")
_NEW_ARRAY = "new Array("
_QUOTES = "\"'"


def convert(text: str, word: str, element: str | None = None) -> Any:
    """The value of ``text`` for a documented type; ``element`` is the documented type of list elements, if any."""
    if word == "String":
        return _unquote(text)
    if word in ("integer", "float", "Bigint"):
        return _number(text, word)
    if word == "Boolean":
        return {"true": True, "false": False}.get(text, text)
    if word == "array":
        return _array(text.strip(), element)
    if word == "dict":
        return _object(text.strip())
    return text


def _unquote(text: str) -> str:
    for quote in _QUOTES:
        if text.startswith(quote) and text.endswith(quote):
            return text[1:-1]
    return text


def _number(text: str, word: str) -> Any:
    try:
        if word == "integer":
            return int(text) if _INTEGER.match(text) else text
        if word == "float":
            return float(text) if _FLOAT.match(text) else text
        return int(text.rstrip("\n")[:-1]) if _BIGINT.match(text) else text
    except ValueError:  # an integer of more than 4300 digits: the reference raises
        return text


def auto_typed(text: str) -> Any:
    """A bare text as the value it resembles: bool, quoted text, Python number, else text."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    unquoted = _unquote(text)
    if unquoted != text:
        return unquoted
    number = python_number(text)
    return text if number is None else number


def _array(text: str, element: str | None) -> Any:
    rows = _rows(text)
    if rows is not None:
        return [[auto_typed(piece) for piece in row.split(",")] for row in rows]
    body = _array_body(text)
    if body is None:
        return text
    body = body.strip()
    if not body:
        return []
    pieces = (piece.strip() for piece in body.split(","))
    if element is None:
        return [auto_typed(piece) for piece in pieces]
    values = [convert(piece, element) for piece in pieces]
    if any(type(value) is str and len(value) > _DIGITS and _too_long(value, element) for value in values):
        return text
    return values


_DIGITS = 4300


def _too_long(value: str, element: str) -> bool:
    """Whether an element's conversion raises in the reference, which then leaves the whole text unchanged."""
    pattern = {"integer": _INTEGER, "Bigint": _BIGINT}.get(element)
    return bool(pattern and pattern.match(value))


def _array_body(text: str) -> str | None:
    """The text between the opening and the first closing bracket, all on one line; ``None`` if it is no array."""
    for opening, closing in (("[", "]"), (_NEW_ARRAY, ")")):
        if text.startswith(opening):
            end = text.find(closing, len(opening), line_end_from(text, len(opening)))
            return None if end == -1 else text[len(opening) : end]
    return None


def _rows(text: str) -> list[str] | None:
    """The bodies of the inner lists of a list of lists; ``None`` if the text does not begin with one.

    The list ends at the first ``]`` that is followed, apart from white space, by the closing bracket. Line breaks are
    possible only at the outer brackets and around commas between inner lists.
    """
    if text.startswith("["):
        start, closing = skip_space(text, 1), "]"
        drops = "\n" in text[1:start]
    elif text.startswith(_NEW_ARRAY):
        start, closing = skip_space(text, len(_NEW_ARRAY)), ")"
        drops = True
    else:
        return None
    if not text.startswith("[", start):
        return None
    end = _rows_end(text, start, closing)
    if end is None:
        return None
    rows: list[str] = _INNER.findall(text[start:end])
    if drops and rows[0].lstrip().startswith("["):
        rows[0] = rows[0].lstrip()[1:]  # one bracket of a third level is lost
    return rows


def _rows_end(text: str, start: int, closing: str) -> int | None:
    position = start + 1
    line_end = line_end_from(text, position)
    while (bracket := text.find("]", position, line_end)) != -1:
        after = skip_space(text, bracket + 1)
        if text.startswith(closing, after):
            return bracket + 1
        position = bracket + 1
        if text.startswith(",", after):
            following = skip_space(text, after + 1)
            if text.startswith("[", following):
                position = following + 1
        if position > line_end:
            line_end = line_end_from(text, position)
    return None


def _object(text: str) -> Any:
    if not text.startswith("{"):
        return text
    end = text.find("}", 1, line_end_from(text, 1))
    if end == -1:
        return text
    return {key.strip().strip(_QUOTES): _object_value(value.strip()) for key, value in _pairs(text[1:end])}


def _pairs(body: str) -> list[tuple[str, str]]:
    """Keys and values: a value ends at the first comma that is followed by a colon before any other comma."""
    pairs: list[tuple[str, str]] = []
    start = 0
    while True:
        while body.startswith(":", start):  # a key needs a character
            start += 1
        colon = body.find(":", start)
        if colon == -1:
            return pairs
        end, following = _value_end(body, colon + 1)
        pairs.append((body[start:colon], body[colon + 1 : end]))
        start = following


def _value_end(body: str, start: int) -> tuple[int, int]:
    """The end of a value and the start of the next pair."""
    comma = body.find(",", start)
    while comma != -1:
        other = body.find(",", comma + 1)
        last_colon = body.rfind(":", comma + 1, len(body) if other == -1 else other)
        if last_colon >= comma + 2:
            return comma, min(skip_space(body, comma + 1), last_colon - 1)
        comma = other
    return len(body), len(body)


def _object_value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return _array(text, None)
    return auto_typed(text.strip(_QUOTES))
