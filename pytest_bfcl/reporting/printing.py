"""Lines and aligned tables on standard output, coloured on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from unicodedata import combining, east_asian_width

from pytest_bfcl.plain_text import printable
from pytest_bfcl.reporting.rendering import visible
from pytest_bfcl.reporting.tables import Cell, Table, words

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
GAP = "  "


class Printer:
    """Writes to standard output. Texts are untrusted: control characters are shown as escapes."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._stream = sys.stdout
        steers = os.name != "nt" or "WT_SESSION" in environment  # the old console of Windows shows escapes as they are
        quiet = environment.get("NO_COLOR") or environment.get("TERM") == "dumb"
        self._coloured = self._stream.isatty() and steers and not quiet

    def line(self, text: str = "", style: str = "") -> None:
        """One line; ``style`` is words of `STYLES`."""
        shown = printable(text)
        codes = ";".join(STYLES[word] for word in style.split())
        if codes and self._coloured:
            shown = f"\x1b[{codes}m{shown}\x1b[0m"
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(shown.encode(encoding, "replace").decode(encoding) + "\n")

    def table(self, found: Table) -> None:
        """Head, rule and rows between two empty lines; spare columns go on a terminal that is too narrow."""
        left = next(place for place in range(len(found.head) + 1) if place not in found.texts)
        heading, *lines = aligned([found.head, *([words(cell) for cell in row] for row in found.rows)], left)
        longest = max(map(width, [heading, *lines]))
        if found.spare and longest > shutil.get_terminal_size().columns:
            kept = found.of([place for place, name in enumerate(found.head) if name != found.spare[0]])
            self.table(kept._replace(spare=found.spare[1:]))
            return
        self.line()
        self.line(heading, "bold")
        self.line("─" * longest)
        for row, text in zip(found.rows, lines, strict=True):
            marks = {cell.mark for cell in row if isinstance(cell, Cell)}
            self.line(text, "red" if "down" in marks else "green" if "up" in marks else "")
        self.line()


def aligned(rows: Sequence[Sequence[str]], left: int = 1, gap: str = GAP) -> Iterator[str]:
    """The rows as lines of equal columns: ``left`` of them left-aligned, the others right-aligned."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = [
            cell + " " * (wide - width(cell)) if position < left else " " * (wide - width(cell)) + cell
            for position, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ]
        yield gap.join(cells).rstrip()


def width(text: str) -> int:
    """Terminal columns of a text: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
