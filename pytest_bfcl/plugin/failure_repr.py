"""What pytest prints for a failed entry: the ready text, in colour on a terminal."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from _pytest._code.code import ExceptionRepr, ReprEntryNative, ReprFileLocation, ReprTraceback

from pytest_bfcl.plain_text import printable

Place = tuple[str, int]
"""File and line (one-based) of an entry."""


class FailureRepr(ExceptionRepr):
    """What pytest prints for a failed entry; plain when turned into a string, coloured on a terminal.

    It has the parts of pytest's own representations, because report plugins read them. ``reprcrash.message`` is what
    the short summary and junit show, ``reprcrash.path`` and ``lineno`` are the entry's place in its data file.
    """

    def __init__(self, text: str, message: str, place: Place = ("", 0)) -> None:
        text = printable(text)
        traceback = ReprTraceback([ReprEntryNative([text])], None, "native")
        super().__init__(traceback, ReprFileLocation(place[0], place[1], printable(message)))
        self.text = text

    def __str__(self) -> str:
        return self.text

    def toterminal(self, writer: Any) -> None:
        """Write the text in colour, lines longer than a colour terminal is wide continued below their value."""
        title, *lines = self.text.splitlines() or [""]
        writer.line(title, red=True, bold=True)
        for line in lines:
            for part in _wrapped(line, writer.fullwidth) if writer.hasmarkup else [line]:
                _write_line(writer, part)


_VALUE = re.compile(r"^ *(?:\S+ {2,}|(?=\S))")
_COLOURS = {"expected": "green", "called": "red", "reply": "red", "message": "red", "advice": "cyan", "^": "red"}


def _write_line(writer: Any, line: str) -> None:
    """One line: the label coloured by what it introduces, the mark at what broke in red."""
    label = line.split(maxsplit=1)[0] if line.strip() else ""
    head, mark, tail = line.partition("<-- ")
    if mark:
        writer.write(head)
        writer.line(mark + tail, red=True, bold=True)
    elif label == "expected" and line.split()[1:] == ["called"]:  # the head of a table
        writer.line(line, bold=True)
    elif label in _COLOURS:
        at = line.index(label)
        writer.write(line[:at])
        writer.write(label, **{_COLOURS[label]: True})
        writer.line(line[at + len(label) :])
    else:
        writer.line(line)


def _wrapped(line: str, width: int) -> list[str]:
    """A line in pieces of at most ``width`` columns, the later ones indented to where its value begins."""
    if len(line) <= width or width < 60:
        return [line]
    found = _VALUE.match(line)
    indent = min(found.end() if found else 0, width // 2)
    return textwrap.wrap(line, width, subsequent_indent=" " * indent, drop_whitespace=True, break_on_hyphens=False) or [
        line
    ]


def text_of(longrepr: object) -> str | None:
    """The text of one of these as it came from a worker (plain data, or pytest's own class); ``None`` for others."""
    if isinstance(longrepr, str):
        return longrepr
    entries = getattr(getattr(longrepr, "reprtraceback", None), "reprentries", None)
    if isinstance(longrepr, FailureRepr) or not entries or not isinstance(entries[0], ReprEntryNative):
        return None
    return "\n".join(entries[0].lines)


def place_of(longrepr: object) -> Place:
    """File and line that a representation names, nothing where it names none."""
    crash = getattr(longrepr, "reprcrash", None)
    return (str(crash.path), int(crash.lineno)) if isinstance(crash, ReprFileLocation) else ("", 0)
