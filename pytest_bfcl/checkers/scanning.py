"""Searches in models' texts in linear time: the results of a regex with ``.*?`` without its cost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """A found body: the text between a head and its closer, and where the closer ends."""

    body: str
    end: int


def find_spans(
    text: str,
    head: re.Pattern[str],
    closer: str,
    *,
    one_line: bool = False,
    at_least: int = 0,
) -> Iterator[Span]:
    """Non-overlapping bodies from a head to the next ``closer``.

    ``one_line``: a body with a line feed does not count (the next head is tried); ``at_least``: characters of a body
    before its closer is looked for.
    """
    position = close = line_end = 0
    while (match := head.search(text, position)) is not None:
        start = match.end()
        if close < start + at_least:
            close = text.find(closer, start + at_least)
            if close == -1:
                return
        if one_line:
            if line_end < start:
                line_end = line_end_from(text, start)
            if line_end < close:
                position = start
                continue
        position = close + len(closer)
        yield Span(text[start:close], position)


class Finder:
    """Finds the next ``needle`` from growing positions; reads each part of the text once."""

    def __init__(self, text: str, needle: str) -> None:
        self._text = text
        self._needle = needle
        self._from = self._found = -1

    def __call__(self, start: int) -> int:
        """Index of the needle at or after ``start``, or the text's length."""
        if not self._from <= start <= self._found:
            found = self._text.find(self._needle, start)
            self._from, self._found = start, len(self._text) if found == -1 else found
        return self._found


def line_end_from(text: str, start: int) -> int:
    """Index of the next line feed, or the text's length."""
    end = text.find("\n", start)
    return len(text) if end == -1 else end


def skip_space(text: str, start: int) -> int:
    """Index of the first character at or after ``start`` that is not white space, or the text's length."""
    end = len(text)
    while start < end and text[start].isspace():
        start += 1
    return start


def python_number(text: str) -> int | float | None:
    """What Python's ``int()``, else ``float()``, accepts (ast_checker spec §8); ``None`` for anything else."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
