"""Entries of a static site packed together: tens of thousands of pages in some dozens of files.

A part is a script that hands its content over, since a page opened from disk may load scripts and nothing else. Pages
repeat each other, those of one entry in several runs most of all, and further apart than deflate looks back. Texts are
cut into pieces, each is kept once, and a page is the list of its pieces. Neighbours lie in one part, in the order of
their names with numbers by value, so that ``unpack.js`` finds a part by the first name of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_bfcl.reporting.packing import packed

ENTRIES_A_PART = 200
_DIGITS = re.compile(r"[0-9]+")
_SEAM = re.compile(r"(?<=\n)|(?=<(?:a|dd|div|dt|h2|p|pre|section|span|td|tr)[ >])")
"""Where pages are cut: behind a line's end and before elements that often differ, or repeat, as a whole."""


def place_of(name: str) -> str:
    """What names are ordered by: numbers count by their value. ``unpack.js`` orders the same way."""
    return _DIGITS.sub(lambda found: found.group().zfill(9), name)


def in_parts(names: Sequence[str]) -> Iterator[list[str]]:
    """Names in order, a fixed number in each part."""
    ordered = sorted(names, key=place_of)
    for start in range(0, len(ordered), ENTRIES_A_PART):
        yield ordered[start : start + ENTRIES_A_PART]


@dataclass
class Part:
    """Entries packed together: pages by ``run/page``, side by side by entry; each is its title and its pieces."""

    pages: dict[str, tuple[str, list[int]]] = field(default_factory=dict)
    beside: dict[str, tuple[str, list[int]]] = field(default_factory=dict)
    _pieces: dict[str, int] = field(default_factory=dict)

    def add_page(self, name: str, title: str, body: str) -> None:
        """An entry's page of one run."""
        self.pages[name] = title, self._cut(body)

    def add_beside(self, name: str, title: str, body: str) -> None:
        """An entry in all runs."""
        self.beside[name] = title, self._cut(body)

    def _cut(self, text: str) -> list[int]:
        """A text as stretches of pieces: the first one's number, how many follow each other, and so on."""
        stretches: list[int] = []
        behind = -1
        for piece in _SEAM.split(text):
            number = self._pieces.setdefault(piece, len(self._pieces))
            if number == behind:
                stretches[-1] += 1
            else:
                stretches += (number, 1)
            behind = number + 1
        return stretches

    def script(self, number: int) -> bytes:
        """The part as a file."""
        content = {"pieces": list(self._pieces), "pages": self.pages, "beside": self.beside}
        return f'bfclPart({number},"{packed(content)}");\n'.encode()
