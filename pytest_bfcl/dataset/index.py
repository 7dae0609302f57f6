"""Finding entries in a file without parsing it: ids by byte scan, bodies later.

Data of known hash is trusted: only the id at the front of each line is read. In users' files every line must also be a
JSON object: a broken line is reported with its place, and the others load.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic_core import from_json

from pytest_bfcl.spread_json import json_trouble, spread_json

_LEADING_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"([^"\\]+)"')
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class DataProblem:
    """A problem of a data file: place (``line`` is one-based, 0 for the whole file) and text.

    An ``error`` makes an entry unusable; a ``warning`` does not.
    """

    path: Path
    line: int
    message: str
    entry_id: str | None = None
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{place}: {self.entry_id}: {self.message}" if self.entry_id else f"{place}: {self.message}"


class Row(NamedTuple):
    """One line: its raw id, its position in bytes, its zero-based position, its ``category`` field if it was read.

    ``line`` is the one-based number of the line, blank ones counted.
    """

    id: str
    offset: int
    length: int
    position: int
    line: int
    category: str | None = None


@dataclass(slots=True)
class Scan:
    """Rows of a file in order, and its problems. Positions count broken lines too, but not blank ones."""

    path: Path
    rows: list[Row] = field(default_factory=list)
    problems: list[DataProblem] = field(default_factory=list)


def scan(path: Path, *, check: bool, id_prefix: str | None = None) -> Scan:
    """Scan a JSON-lines file.

    ``check`` parses every line (users' files). ``id_prefix``: lines without an id get ``<id_prefix>_<position>`` (the
    retired ``chatable`` file); otherwise they are problems. Raises `OSError` if the file cannot be read.
    """
    result = Scan(path)
    seen: set[str] = set()
    offset, position = 0, -1
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            start, offset = offset, offset + len(line)
            if number == 1 and line.startswith(_BOM):
                line, start = line[len(_BOM) :], len(_BOM)
            if line.isspace() or not line:
                continue
            position += 1
            found = _LEADING_ID.match(line)
            if found and not check:
                result.rows.append(Row(found[1].decode(), start, len(line), position, number))
                continue
            default_id = f"{id_prefix}_{position}" if id_prefix else None
            row = _checked_row(line, Row("", start, len(line), position, number), default_id)
            if isinstance(row, str):
                result.problems.append(DataProblem(path, number, row))
            elif row.id in seen:
                result.problems.append(DataProblem(path, number, "id occurs twice; the first line counts", row.id))
            else:
                seen.add(row.id)
                result.rows.append(row)
    if result.problems and (whole := spread_json(path)):
        return Scan(path, problems=[DataProblem(path, 0, whole)])
    return result


def _checked_row(line: bytes, place: Row, default_id: str | None) -> Row | str:
    """The row of a parsed line (``place`` is its position), or its problem."""
    try:
        body = parse_line(line)
    except (ValueError, RecursionError) as error:
        return json_trouble(error)
    if not isinstance(body, dict):
        return f"an entry is a JSON object, this line is {_kind(body)}"
    entry_id = body.get("id", default_id)
    if not isinstance(entry_id, str) or not entry_id:
        return 'the entry has no "id" (a non-empty string)'
    if _UNPRINTABLE.search(entry_id):
        # pytest's cache, XML reports and terminals all name entries by their ids.
        return f"the id {entry_id[:80]!a} holds control characters or unpaired surrogates"
    category = body.get("category")
    return place._replace(id=entry_id, category=category if isinstance(category, str) else None)


def parse_line(line: bytes) -> Any:
    """One JSON value. Raises `ValueError` with the reason and the column.

    The fast parser refuses a few texts that Python's accepts (lone surrogates); then Python's decides.
    """
    try:
        return from_json(line, cache_strings="keys")
    except ValueError:
        return json.loads(line)


# A pipe in a file's place is refused when it is read; without the flag to open it waits for a writer, for ever.
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


def read_line(path: Path, offset: int, length: int) -> bytes:
    """The bytes of one indexed line. Raises `OSError`."""
    file = os.open(path, _READING)  # half the work of a file object
    try:
        return _read_at(file, offset, length)
    finally:
        os.close(file)


def _sought(file: int, length: int, offset: int) -> bytes:
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, length)


# One call instead of two, and forked processes share no position.
_pread: Callable[[int, int, int], bytes] = getattr(os, "pread", _sought)


def _read_at(file: int, offset: int, length: int) -> bytes:
    if len(whole := _pread(file, length, offset)) == length:
        return whole
    parts, missing = [whole], length - len(whole)
    while missing > 0 and (part := _pread(file, missing, offset + length - missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


class _OpenFile:
    """An open file with a piece of it that was read ahead."""

    __slots__ = ("file", "last", "piece", "start")

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, _READING)
        self.piece = b""
        self.start = 0
        """The position of the piece in the file."""
        self.last = -1
        """The end of the last line that was read."""


class LineFiles:
    """`read_line` for many lines of few files: the last files stay open, which halves the time. Thread-safe.
    Consecutive lines are read ahead, several at once. Copies and unpickled objects open their own files.
    """

    MOST_OPEN = 4
    AHEAD = 1 << 15
    """Bytes of a file that are read ahead when its lines are read in order."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, _OpenFile] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, path: Path, offset: int, length: int) -> bytes:
        """The bytes of one indexed line. Raises `OSError`."""
        with self._lock:
            opened = self._open.get(path) or self._opened(path)
            last, opened.last = opened.last, offset + length
            begin = offset - opened.start
            if begin >= 0 and (end := begin + length) <= len(opened.piece):
                return opened.piece[begin:end]
            if offset != last or length > self.AHEAD:
                return _read_at(opened.file, offset, length)
            opened.piece, opened.start = _read_at(opened.file, offset, self.AHEAD), offset
            return opened.piece[:length]

    def _opened(self, path: Path) -> _OpenFile:
        opened = self._open[path] = _OpenFile(path)
        if len(self._open) > self.MOST_OPEN:
            os.close(self._open.popitem(last=False)[1].file)
        return opened

    def __reduce__(self) -> tuple[type[LineFiles], tuple[()]]:
        return LineFiles, ()

    def __del__(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1].file)


def line_spans(path: Path) -> list[tuple[int, int]]:
    """(offset, length) of every non-blank line: answers pair with questions by position in this list."""
    spans: list[tuple[int, int]] = []
    offset = 0
    with path.open("rb") as lines:
        for line in lines:
            if not line.isspace():
                spans.append((offset, len(line)))
            offset += len(line)
    return spans


def _kind(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
