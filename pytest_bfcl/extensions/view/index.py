"""The index of one ``results.jsonl``: one pass, then any line can be read alone; it grows with the file. The counted
lines are those of `pytest_bfcl.runs.results.read_results`: the last readable line of each key, in the order of first
appearance. An incomplete last line waits until it is complete.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_bfcl.dataset.index import read_line
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.extensions.view.columns import Columns, Row
from pytest_bfcl.runs.lines import DamagedLine, open_regular, parse_object, whole_lines
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.runs.results import checked

MAX_DAMAGED = 200
"""Damaged lines stored with their reason; more are only counted."""
CHUNK = 1 << 20
TAIL = 400
"""Bytes before the end of the indexed part that must be unchanged when the file has grown."""


class StaleIndexError(Exception):
    """A line differs from the index: the file was changed."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A cheap sign of changes: size, time of the last change, the file's number."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """The present stamp; ``None`` without a file."""
        try:
            found = path.stat()
        except OSError:
            return None
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


class RunIndex:
    """The lines of one results file. ``read``: indexed bytes, ``stamp``: the file at that moment."""

    def __init__(self, path: Path, shared: dict[str, str] | None = None) -> None:
        self.path = path
        self.stamp: Stamp | None = None
        self.read = 0
        self.lines = 0
        self.columns = Columns(shared)
        self.damaged: list[DamagedLine] = []
        self.damaged_count = 0
        self._order: array[int] = array("I")
        self._places: dict[tuple[int, int, int, int], int] | None = {}
        self._digest = hashlib.blake2b(digest_size=16)
        self._kept_digest = ""
        self._tail = b""

    def __len__(self) -> int:
        """Entries: keys, not lines."""
        return len(self._order)

    @property
    def torn(self) -> bool:
        """Whether the file ended in an incomplete line."""
        return self.stamp is not None and self.stamp.size > self.read

    @property
    def digest(self) -> str:
        """Digest of the indexed bytes."""
        return self._kept_digest or self._digest.hexdigest()

    def catch_up(self) -> bool:
        """Index added lines; returns whether there were any. Raises `StaleIndexError` for another file."""
        stamp = Stamp.of(self.path)
        if stamp == self.stamp:
            return False
        if stamp is None:
            if self.read:
                raise StaleIndexError(f"{self.path} is gone")
            return False
        if stamp.size < self.read or (self.stamp is not None and stamp.inode != self.stamp.inode):
            raise StaleIndexError(f"{self.path} was replaced")
        if self.stamp is not None and stamp.size == self.stamp.size:
            raise StaleIndexError(f"{self.path} was changed")
        if self._kept_digest and not self._verify():
            raise StaleIndexError(f"{self.path} was changed")
        if self._tail and read_line(self.path, self.read - len(self._tail), len(self._tail)) != self._tail:
            raise StaleIndexError(f"{self.path} was changed")
        added = self._take_in()
        self.stamp = stamp
        return added

    def _take_in(self) -> bool:
        before = self.read
        with open_regular(self.path) as file:
            file.seek(self.read)
            for raw in whole_lines(file):
                if not raw.endswith(b"\n") and not _is_whole(raw):
                    break
                self._add(raw)
                self.lines += raw.endswith(b"\n")
                self.read += len(raw)
                self._digest.update(raw)
                self._tail = raw[-TAIL:]
        return self.read != before

    def _add(self, raw: bytes) -> None:
        if not raw.strip():
            return
        try:
            line = checked(parse_object(raw))
            text = headline(line)
        except ValueError as error:
            self.damaged_count += 1
            if len(self.damaged) < MAX_DAMAGED:
                self.damaged.append(DamagedLine(self.path, self.lines + 1, str(error)))
            return
        number = self.columns.append(line, self.read, len(raw), text)
        places = self._places_now()
        place = places.setdefault(self.columns.key(number), len(self._order))
        if place == len(self._order):
            self._order.append(number)
        else:
            self._order[place] = number

    def _places_now(self) -> dict[tuple[int, int, int, int], int]:
        if self._places is None:
            self._places = {self.columns.key(number): place for place, number in enumerate(self._order)}
        return self._places

    def rest(self) -> None:
        """Release what only growing needs."""
        self._places = None
        self.columns.rest()

    # Reading.

    def rows(self) -> Iterator[Row]:
        """The counted lines, in order."""
        return map(self.columns.row, self._order)

    def added(self, numbers: Iterable[int]) -> Iterator[Row]:
        """The rows of some lines by their numbers, in the form of `order`."""
        return map(self.columns.row, numbers)

    def listed(self) -> Iterator[tuple[Row, str]]:
        """The counted lines, each with its headline."""
        order = self._order[:]
        texts = self.columns.texts()  # after the order: it may only have become longer
        return ((self.columns.row(number), texts[number]) for number in order)

    def outcomes(self) -> Iterator[tuple[str, str]]:
        """Entry and outcome of the counted lines, in order, without making rows of a million lines."""
        return self.columns.outcomes(self._order[:])

    def models(self) -> Counter[str]:
        """Model → its counted lines."""
        return self.columns.models(self._order[:])

    def newest(self) -> Iterator[Row]:
        """All lines, the last one of the file first."""
        return map(self.columns.row, range(len(self.columns) - 1, -1, -1))

    def of_entry(self, entry_id: str) -> list[Row]:
        """The counted lines of one entry: one for each model and repeat."""
        found = {self.columns.key(number): number for number in self.columns.numbers_of(entry_id)}
        return [self.columns.row(number) for number in found.values()]

    def line(self, row: Row) -> ResultLine:
        """The whole line of a row. Raises `StaleIndexError` if another line is there now."""
        try:
            line = checked(parse_object(read_line(self.path, row.offset, row.length)))
        except (OSError, ValueError) as error:
            raise StaleIndexError(f"{self.path} was changed: {error}") from error
        key = (line["model"], line["mode"], line["id"], line.get("repeat") or 1)
        if key != (row.model, row.mode, row.id, row.repeat):
            raise StaleIndexError(f"{self.path} was changed")
        return line

    # What a cache keeps.

    def order(self) -> array[int]:
        """The number of the counted line of each key."""
        return self._order

    def restore(self, columns: Columns, order: array[int], stamp: Stamp, read: int, lines: int, digest: str) -> None:
        """Load an earlier index; the beginning of the file is compared before more is indexed."""
        self.columns, self._order, self._places = columns, order, None
        self.stamp, self.read, self.lines, self._kept_digest = stamp, read, lines, digest

    def _verify(self) -> bool:
        """Read the indexed bytes again and compare."""
        kept, self._kept_digest = self._kept_digest, ""
        self._digest = hashlib.blake2b(digest_size=16)
        left = self.read
        try:
            with open_regular(self.path) as file:
                while left and (part := file.read(min(left, CHUNK))):
                    self._digest.update(part)
                    left -= len(part)
        except OSError:
            return False
        return not left and self.digest == kept


def _is_whole(raw: bytes) -> bool:
    """Whether a last line without its end is a complete object."""
    try:
        parse_object(raw)
    except ValueError:
        return False
    return True
