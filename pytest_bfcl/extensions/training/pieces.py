"""Files of rollouts in pieces: parts of JSON-lines files, compressed files, row groups of Parquet files.

A piece is read line by line, so memory does not grow with files.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.runs.directory import RESULTS_FILE, is_run
from pytest_bfcl.runs.lines import LONGEST_LINE
from pytest_bfcl.runs.paths import files_named
from pytest_bfcl.runs.result_line import ReplayLine
from pytest_bfcl.runs.snapshots import folder_name
from pytest_bfcl.spread_json import json_or

STRETCH = 64 * 1024 * 1024
"""Bytes of a file in one piece; row groups stay whole, small ones together."""
BATCH = 256
"""Rows of a Parquet file that are converted to objects at a time."""
AS_JSON = "_json"
"""A column of texts such as ``output_json`` has the field as JSON, because Parquet needs one type a column."""


class Piece(NamedTuple):
    """Part of a file. ``start`` and ``end``: bytes, or row groups of a Parquet file; ``first``: line number."""

    path: str
    kind: str
    start: int
    end: int
    first: int = 1

    @property
    def name(self) -> str:
        """The file name of its verdicts."""
        digest = hashlib.sha256(self.path.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        return f"{folder_name(Path(self.path).name)[:60]}-{digest}-{self.start:012d}"


def pieces_of(paths: Sequence[str]) -> list[Piece]:
    """The pieces of files, globs and folders of files, in order, lines not counted yet (`counted`).

    Raises `UsageError` for a path without files.
    """
    found: list[Piece] = []
    for path in (each for text in paths for each in _files(text)):
        size = os.path.getsize(path)
        if is_parquet(path):
            found += [Piece(path, "parquet", start, end) for start, end in _groups(path)]
        elif _is_packed(path):
            found.append(Piece(path, "gzip", 0, size))
        else:
            found += [
                Piece(path, "lines", start, min(start + STRETCH, size)) for start in range(0, max(size, 1), STRETCH)
            ]
    return found


def _files(text: str) -> list[str]:
    path = text.removeprefix("file://")
    if "://" in path:
        raise UsageError(f"{text}: mount or copy it: files are read where every node finds them under one path")
    if is_run(Path(path)):  # its journal holds the same replies
        names = [os.path.join(path, RESULTS_FILE)]
    elif os.path.isdir(path):
        names = sorted(map(str, files_named(Path(path), "*.jsonl", "*.gz", "*.parquet")))
    else:
        names = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    if not names or not all(map(os.path.isfile, names)):
        raise UsageError(f"no file at {text}: name .jsonl, .jsonl.gz or .parquet files, a folder or a pattern of them")
    return names


def lines_in(piece: Piece) -> int:
    """How many lines begin in a piece of JSON lines, or the rows in row groups."""
    if piece.kind == "parquet":
        told = _opened(piece.path).metadata
        return sum(int(told.row_group(group).num_rows) for group in range(piece.start, piece.end))
    if piece.kind == "gzip":
        return 0  # one piece is the whole file
    return sum(1 for _ in _stretch(piece))


def counted(pieces: Sequence[Piece], counts: Iterable[int]) -> list[Piece]:
    """The pieces with the number of their first line in its file; ``counts``: `lines_in` of each."""
    found, path, number = [], None, 1
    for piece, count in zip(pieces, counts, strict=True):
        number = number if piece.path == path else 1
        path = piece.path
        found.append(piece._replace(first=number))
        number += count
    return found


def lines_of(piece: Piece) -> Iterator[Any]:
    """The lines of a piece: bytes, or the objects of a Parquet file."""
    if piece.kind == "parquet":
        return _rows(piece)
    return _unpacked(piece) if piece.kind == "gzip" else _stretch(piece)


def _stretch(piece: Piece) -> Iterator[bytes]:
    """The lines that begin in a part; the last one may end after it."""
    with open(piece.path, "rb") as file:
        if piece.start:
            file.seek(piece.start - 1)
            file.readline(LONGEST_LINE)  # the line before, or its end
        while file.tell() < piece.end and (line := file.readline(LONGEST_LINE)):
            yield line


def _unpacked(piece: Piece) -> Iterator[bytes]:
    import gzip
    import zlib

    try:
        with gzip.open(piece.path, "rb") as file:
            while line := file.readline(LONGEST_LINE):
                yield line
    except (EOFError, OSError, zlib.error) as error:
        raise UsageError(f"{piece.path} is damaged or unreadable: {error}") from error


# -- Parquet -----------------------------------------------------------------------------------------------------------


def is_parquet(path: str | Path) -> bool:
    """Whether a file is Parquet, by its first bytes."""
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _is_packed(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _rows(piece: Piece) -> Iterator[Parsed]:
    """The rows of row groups as replay lines. Only columns of replay lines are read, because others may be large."""
    file = _opened(piece.path)
    known = ReplayLine.__annotations__
    columns = [name for name in file.schema_arrow.names if name.removesuffix(AS_JSON) in known]
    try:
        for batch in file.iter_batches(BATCH, row_groups=list(range(piece.start, piece.end)), columns=columns):
            yield from map(_line_of, batch.to_pylist())
    except (OSError, ValueError) as error:
        raise UsageError(f"{piece.path} is damaged or unreadable: {error}") from error


def _line_of(row: Parsed) -> Parsed:
    line: Parsed = {}
    for name, value in row.items():
        field = name.removesuffix(AS_JSON)
        if value is None:
            continue
        if field != name and isinstance(value, str):
            value = json_or(value, value)
        elif type(value) is not str:
            value = _filled(value)
        line[field] = value
    return line


def _filled(value: Any) -> Any:
    """A value without nulls in objects, because Arrow gives every object of a column the fields of all."""
    if isinstance(value, dict):
        return {name: _filled(inner) for name, inner in value.items() if inner is not None}
    return [_filled(inner) for inner in value] if isinstance(value, list) else value


def _groups(path: str) -> Iterator[tuple[int, int]]:
    """Groups of consecutive row groups, small ones together."""
    told = _opened(path).metadata
    start = size = 0
    for group in range(told.num_row_groups):
        if size and size + told.row_group(group).total_byte_size > STRETCH:
            yield start, group
            start, size = group, 0
        size += told.row_group(group).total_byte_size
    if start < told.num_row_groups:
        yield start, told.num_row_groups


def _opened(path: str) -> Any:
    """A Parquet file that is read on access. Raises `UsageError` for one that cannot be read."""
    from pytest_bfcl.extras import require

    require("tables", "reading Parquet files")
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is damaged or unreadable: {error}") from error
