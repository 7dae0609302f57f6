"""Repairs text that models write instead of Python before parsing it, as the servers of LFM2 and others do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from keyword import kwlist

_PIECE = re.compile(r"[\"']|[^\W\d]\w*|(?<![\w.])0[\d_]+(?![\w.])")
_BODY = {quote: re.compile(rf"[^{quote}\\]*+(?:\\.[^{quote}\\]*+)*+", re.DOTALL) for quote in "\"'"}
_KEYWORDS = frozenset(kwlist) - {"True", "False", "None"}
KEPT = "kw__of__python__"
"""A prefix for names that are Python keywords; `plain_name` removes it."""
_NAMED = re.compile(r"\s*(?:=(?!=)|[(.])")
_WORDS = {"true": "True", "false": "False", "null": "None"}
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x00": "\\x00"}
_CONTROL = re.compile(r"[\n\r\t\x00]")
_CLOSES = re.compile(r"\s*+(?:[,)\]}:]|\Z)")


def repaired(text: str) -> Iterator[str]:
    """A list of calls as it was probably meant, by one repair after the other.

    Adds brackets around calls that follow each other or have a line each. Reads JSON's words, keywords as names,
    numbers with leading zeros, and line feeds inside texts. Finally, a quote inside a text in the same quotes ends it
    only where an argument can end.
    """
    if not text.startswith("["):
        text = "[" + ", ".join([line.strip().rstrip(",") for line in text.splitlines() if line.strip()]) + "]"
    yield _written(text, _ended)
    yield _written(text, _ended_where_arguments_end)


def plain_name(name: object) -> str:
    """A name as written: Python keywords may name functions and parameters."""
    return str(name).replace(KEPT, "")


def _written(text: str, end_of: Callable[[str, str, int], int]) -> str:
    out: list[str] = []
    position = 0
    while (found := _PIECE.search(text, position)) is not None:
        piece = found.group()
        out.append(text[position : found.start()])
        position = found.end()
        if piece in ("'", '"'):
            end = end_of(text, piece, position)
            body = _CONTROL.sub(lambda control: _ESCAPES[control.group()], text[position:end])
            if end_of is _ended_where_arguments_end:
                body = re.sub(rf"\\.|{piece}", lambda each: each[0] if len(each[0]) > 1 else f"\\{each[0]}", body)
            out.append(piece + body)
            position = end
            if position < len(text):
                out.append(piece)
                position += 1
        elif piece in _KEYWORDS and (_NAMED.match(text, position) or text[found.start() - 1 : found.start()] == "."):
            out.append(KEPT + piece)
        else:
            out.append((piece.lstrip("0_") or "0") if piece[0] == "0" else _WORDS.get(piece, piece))
    return "".join([*out, text[position:]])


def _ended(text: str, quote: str, position: int) -> int:
    """The end of a quoted text: its closing quote, else the end of everything."""
    body = _BODY[quote].match(text, position)
    end = body.end() if body else position
    return end if text.startswith(quote, end) else len(text)


def _ended_where_arguments_end(text: str, quote: str, position: int) -> int:
    while (end := _ended(text, quote, position)) < len(text) and not _CLOSES.match(text, end + 1):
        position = end + 1
    return end
