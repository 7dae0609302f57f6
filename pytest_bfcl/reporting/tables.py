"""A table as data, which a terminal, Markdown and pages show each in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

EMPTY: tuple[object, ...] = ("", "–", (), [])


class Cell(NamedTuple):
    """A cell that is more than a text.

    ``value``: what the column is sorted by; ``beside`` and ``below``: softer words after it and under it; ``href``:
    where its text leads, ``link`` a word with another address; ``mark``: a class of the cell (``up`` and ``down`` also
    colour the line on a terminal), ``chip`` one of its text.
    """

    text: str
    value: object = None
    beside: Sequence[str] = ()
    below: Sequence[str] = ()
    href: str = ""
    link: tuple[str, str] | None = None
    mark: str = ""
    chip: str = ""
    code: bool = False


class Table(NamedTuple):
    """Rows of cells under a head. ``texts`` are the places of columns of words, the first of which names the row; all
    others are figures. ``kinds``: the class of each row; ``spare``: the columns that a narrow terminal goes without, in
    this order.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    texts: Sequence[int] = (0,)
    kinds: Sequence[str] = ()
    spare: Sequence[str] = ()

    def of(self, columns: Sequence[int]) -> Table:
        """The table with these columns only."""
        rows = [[row[place] for place in columns] for row in self.rows]
        texts = [number for number, place in enumerate(columns) if place in self.texts]
        return self._replace(head=[self.head[place] for place in columns], rows=rows, texts=texts)


def words(cell: str | Cell) -> str:
    """The text of a cell."""
    return cell if isinstance(cell, str) else cell.text


def whole(cell: str | Cell) -> str:
    """The text of a cell with its softer words."""
    if isinstance(cell, str):
        return cell
    return " ".join([cell.text, *cell.beside, *([f"({'; '.join(cell.below)})"] if cell.below else [])])


def filled(rows: Sequence[Sequence[str | Cell]], head: Sequence[str]) -> list[int]:
    """The columns in which some row has a word or a figure; all of a table without rows."""
    texts = [
        [cell if isinstance(cell, str) else cell.text or cell.below or cell.beside for cell in row] for row in rows
    ]
    return [n for n in range(len(head)) if not rows or any(row[n] not in EMPTY for row in texts)]
