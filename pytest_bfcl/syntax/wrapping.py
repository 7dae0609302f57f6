"""Corrected rules C2 (wrapping) and C3 (escapes): find the only call list inside other text.

Used only after the official rules failed, so that replies they can read keep their meaning.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.python_syntax import parse_lines

_TAG, _TAG_END = "<TOOLCALL>", "</TOOLCALL>"


def prepare(text: str, tool_call_tag: bool = False) -> str:
    """Strip back-ticks, line feeds and spaces, add outer brackets, take the inside of a required tag.

    Raises `DecodeError` if a required tag is missing.
    """
    text = text.strip("`\n ")
    if not text.startswith("["):
        text = "[" + text
    if not text.endswith("]"):
        text += "]"
    return tag_content(text) if tool_call_tag else text


def tag_content(text: str) -> str:
    """The inside of the first tag pair, shortest match, stripped. Raises `DecodeError` without one."""
    start = text.find(_TAG)
    end = text.find(_TAG_END, start)
    if start < 0 or end < 0:
        raise DecodeError("no <TOOLCALL> … </TOOLCALL> in the text")
    return text[start + len(_TAG) : end].strip()


Read = Callable[[str], list[Any]]
"""Text → list of calls; raises `DecodeError`."""

MAX_WRAPPED = 50_000
"""Longest text that is searched for a call list, in characters."""
_MAX_SPANS = 20
_FENCE = re.compile(r"```[\w+#.-]*+[ \t]*+\r?\n?(.*?)```", re.DOTALL)
_OPEN_FENCE = re.compile(r"\A```[\w+#.-]*[ \t]*\r?\n")
_START = re.compile(r"[\w)\]]\(|\[")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LINE_END = re.compile(rb"\r\n|\r|\n")
_MARK = re.compile(r"[()\[\]{}\"']")
_STRING_BODY = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\.)*+", re.DOTALL) for quote in "\"'"}
"""The inside of a string: it ends on its line, unless the line's end is escaped."""


def recover(text: str, read: Read, *, wrapping: bool, escapes: bool, lines: bool) -> list[Any] | None:
    """The calls of a text that did not decode unchanged, or ``None``.

    ``wrapping`` and ``escapes`` switch the two rules; ``lines`` allows Python calls on their own lines.
    """
    if escapes and "\\_" in text:
        text = text.replace("\\_", "_")
        calls = _calls(text, read)
        if calls:
            return calls
    return unwrap(text, read, lines=lines) if wrapping else None


def unwrap(text: str, read: Read, *, lines: bool = True) -> list[Any] | None:
    """The only call list in a text: fenced, inside prose, or as calls on separate lines; ``None`` for none or several.

    A repeated list counts once.
    """
    if len(text) > MAX_WRAPPED or not any(mark in text for mark in "({<"):
        return None
    found: list[list[Any]] = []
    for candidate in _candidates(text):
        calls = None if candidate == text else _calls(candidate, read)
        if not calls and lines and "\n" in candidate and "(" in candidate:
            calls = _calls_on_lines(candidate, read)
        if calls and calls not in found:
            found.append(calls)
    return found[0] if len(found) == 1 else None


def bracketed_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each outermost ``[ … ]`` outside parentheses of a call, without brackets in strings."""
    position = attempts = 0
    while attempts < _MAX_SPANS:
        found = _START.search(text, position)
        if found is None:
            return
        end = _matching(text, found.end() - 1)
        if end is None:
            attempts += 1
            position = found.end()
            continue
        if found.group() == "[":
            yield found.start(), end
        position = end


def _candidates(text: str) -> Iterator[str]:
    """Texts that may be the call list: the whole text, fenced blocks, bracketed spans outside them."""
    whole = _OPEN_FENCE.sub("", text.strip().lstrip("\ufeff")).strip("` \t\r\n")
    blocks = _FENCE.findall(text)
    if blocks:
        yield from (block.strip("` \t\r\n") for block in blocks)
    else:
        yield whole
    outside = _FENCE.sub("\n", text) if blocks else text
    for start, end in bracketed_spans(outside):
        if (start, end) != (0, len(text)) and not _tagged(outside, start, end):
            yield outside[start:end]


def _tagged(text: str, start: int, end: int) -> bool:
    """Whether the span is between tags: then the reply has another format, not prose around a list."""
    return text[:start].rstrip().endswith(">") and text[end:].lstrip().startswith("<")


def _calls(text: str, read: Read) -> list[Any] | None:
    try:
        return read(text) or None
    except DecodeError:
        return None


def _calls_on_lines(text: str, read: Read) -> list[Any] | None:
    """Python calls one after the other, each its own statement."""
    try:
        nodes = parse_lines(text)
        if not nodes or not all(isinstance(node, ast.Call) for node in nodes):
            return None
        calls: list[Any] = []
        for segment in _segments(text, nodes):
            calls += read(segment)
        return calls
    except (DecodeError, RecursionError, ValueError):
        return None


def _segments(text: str, nodes: list[ast.expr]) -> Iterator[str]:
    """The source of each node, as from ``ast.get_source_segment``, in linear time for all."""
    data = text.encode()
    starts = [0, *(found.end() for found in _LINE_END.finditer(data))]
    for node in nodes:
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        yield data[starts[node.lineno - 1] + node.col_offset : starts[end_line - 1] + end].decode()


def _matching(text: str, start: int) -> int | None:
    """The position after the bracket that closes the one at ``start``; ``None`` if it does not close."""
    expected: list[str] = []
    unclosed = {'"': 0, "'": 0}  # no string in this quote that starts before here ends: the text is searched once
    position = start
    while (found := _MARK.search(text, position)) is not None:
        character, position = found.group(), found.end()
        if character in _CLOSING:
            expected.append(_CLOSING[character])
        elif character in ")]}":
            if expected.pop() != character:
                return None
            if not expected:
                return position
        elif position > unclosed[character]:
            body = _STRING_BODY[character].match(text, position)
            end = body.end() if body else position
            if text.startswith(character, end):
                position = end + 1
            else:
                unclosed[character] = end
    return None
