"""Judges files of rollouts in pieces, in one process or on each worker of a cluster; verdicts by model.

Pieces are parts of JSON-lines files, compressed files, and row groups of Parquet files. A piece is read line by line,
so memory does not grow with files. Its verdicts go to ``<out>/model=<name>/<piece>.jsonl``, rewritten if it is judged
again.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import json
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.extensions.training.processes import spread
from pytest_bfcl.extras import require
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.judging.entries import opened
from pytest_bfcl.rescoring import parsed_line, score_lines
from pytest_bfcl.runs.directory import RESULTS_FILE, is_run
from pytest_bfcl.runs.lines import LONGEST_LINE, open_regular, whole_lines
from pytest_bfcl.runs.paths import files_named
from pytest_bfcl.runs.readings import Readings
from pytest_bfcl.runs.result_line import ReplayLine
from pytest_bfcl.runs.snapshots import folder_name
from pytest_bfcl.spread_json import json_or

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.wire_names import Names
    from pytest_bfcl.transcript import Mode

NAMELESS = "unknown"
"""The folder of verdicts on lines without a model."""
MOST_FOLDERS = 500
"""Most models of one piece with their own folder, each an open file; others share that of lines without a model."""
STRETCH = 64 * 1024 * 1024
"""Bytes of a file in one piece; row groups stay whole, small ones together."""
BATCH = 256
"""Rows of a Parquet file that are converted to objects at a time."""
AS_JSON = "_json"
"""A column of texts such as ``output_json`` has the field as JSON, because Parquet needs one type a column."""
encoded = json.JSONEncoder(default=str, separators=(",", ":")).encode
"""A verdict as a line."""


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

    Raises `UsageError` for a path without files, and for one that cannot be read.
    """
    found: list[Piece] = []
    for path in (each for text in paths for each in _files(text)):
        try:
            with open_regular(Path(path)) as file:
                begin, size = file.read(4), os.path.getsize(path)
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
        if begin == b"PAR1":
            found += [Piece(path, "parquet", start, end) for start, end in _groups(path)]
        elif begin[:2] == b"\x1f\x8b":
            found.append(Piece(path, "gzip", 0, size))
        else:
            starts = range(0, max(size, 1), STRETCH)
            found += [Piece(path, "lines", start, min(start + STRETCH, size)) for start in starts]
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
        told = _opened_table(piece.path).metadata
        return sum(int(told.row_group(group).num_rows) for group in range(piece.start, piece.end))
    return 0 if piece.kind == "gzip" else sum(1 for _ in _stretch(piece))  # a packed file is one piece


def counted(pieces: Sequence[Piece], counts: Iterable[int]) -> list[Piece]:
    """The pieces with the number of their first line in its file; ``counts``: `lines_in` of each."""
    found, path, number = [], None, 1
    for piece, count in zip(pieces, counts, strict=True):
        number = number if piece.path == path else 1
        path = piece.path
        found.append(piece._replace(first=number))
        number += count
    return found


def are_cut(pieces: Sequence[Piece]) -> bool:
    """Whether a file has several pieces, so that their lines must be counted first."""
    return len({piece.path for piece in pieces}) < len(pieces)


def lines_of(piece: Piece) -> Iterator[Any]:
    """The lines of a piece: bytes, or the objects of a Parquet file. Raises `UsageError` for a damaged one."""
    read = {"parquet": _rows, "gzip": _unpacked, "lines": _stretch}[piece.kind]
    try:
        yield from read(piece)
    except (EOFError, OSError, ValueError, zlib.error) as error:  # Arrow's are ValueErrors
        raise UsageError(f"{piece.path} is damaged or unreadable: {error}") from error


def _stretch(piece: Piece) -> Iterator[bytes]:
    """The lines that begin in a part; the last one may end after it."""
    with open(piece.path, "rb") as file:
        if piece.start:
            file.seek(piece.start - 1)
            file.readline(LONGEST_LINE)  # the line before, or its end
        for line in whole_lines(file) if file.tell() < piece.end else ():
            yield line
            if file.tell() >= piece.end:
                return


def _unpacked(piece: Piece) -> Iterator[bytes]:
    with gzip.open(piece.path, "rb") as file:
        yield from whole_lines(file)


# -- Parquet -----------------------------------------------------------------------------------------------------------


def _rows(piece: Piece) -> Iterator[Parsed]:
    """The rows of row groups as replay lines. Only columns of replay lines are read, because others may be large."""
    file = _opened_table(piece.path)
    known = ReplayLine.__annotations__
    columns = [name for name in file.schema_arrow.names if name.removesuffix(AS_JSON) in known]
    for batch in file.iter_batches(BATCH, row_groups=list(range(piece.start, piece.end)), columns=columns):
        yield from map(_line_of, batch.to_pylist())


def _line_of(row: Parsed) -> Parsed:
    line: Parsed = {}
    for name, value in row.items():
        field = name.removesuffix(AS_JSON)
        if value is not None:
            line[field] = json_or(value, value) if field != name and isinstance(value, str) else _filled(value)
    return line


def _filled(value: Any) -> Any:
    """A value without nulls in objects, because Arrow gives every object of a column the fields of all."""
    if isinstance(value, dict):
        return {name: _filled(inner) for name, inner in value.items() if inner is not None}
    return [_filled(inner) for inner in value] if isinstance(value, list) else value


def _groups(path: str) -> Iterator[tuple[int, int]]:
    """Groups of consecutive row groups, small ones together."""
    told = _opened_table(path).metadata
    start = size = 0
    for group in range(told.num_row_groups):
        if size and size + told.row_group(group).total_byte_size > STRETCH:
            yield start, group
            start, size = group, 0
        size += told.row_group(group).total_byte_size
    if start < told.num_row_groups:
        yield start, told.num_row_groups


def _opened_table(path: str) -> Any:
    """A Parquet file that is read on access. Raises `UsageError` for one that cannot be read."""
    require("tables", "reading Parquet files")
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is damaged or unreadable: {error}") from error


# -- judging -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judging:
    """How lines are judged (see `pytest_bfcl.rescoring.score_lines`), and where verdicts are written.

    ``data_sha256``: the required digest of the data, empty for any.
    """

    out: str
    data: str = "auto"
    rules: str = "official"
    rest: str = "auto"
    decoder: str | None = None
    think: str = "auto"
    data_sha256: str = ""
    mode: Mode | None = None
    names: Names = "auto"

    def pinned(self) -> Judging:
        """The same with the digest of the data here; lines with their own entries need no data."""
        data = self.opened()
        return self if isinstance(data, str) else replace(self, data_sha256=data.sha256)

    def opened(self) -> DataSet | str:
        """The data, or its name if it cannot be opened. Raises `UsageError` for other data."""
        try:
            data = opened(self.data)
        except UsageError as error:
            if self.data_sha256:
                raise UsageError(f"the data {self.data} is missing: {error}") from None
            return self.data
        if self.data_sha256 not in ("", data.sha256):
            raise UsageError(f"the data {self.data} is another there: {data.sha256[:8]}, not {self.data_sha256[:8]}")
        return data

    def readings(self) -> Readings:
        """How lines are read that do not say it, with what their calls prove."""
        return Readings(self.mode, self.names, self.decoder)

    def verdicts(
        self, lines: Iterable[Any], data: DataSet | str, readings: Readings, ahead: Iterable[Any], first: int = 1
    ) -> Iterator[Parsed]:
        """The verdict of each line."""
        return score_lines(
            lines, data, self.rules, self.rest, self.decoder, self.think,  # type: ignore[arg-type]
            first=first, readings=readings, ahead=ahead,
        )  # fmt: skip


class Tally(NamedTuple):
    """The result of one piece."""

    path: str
    lines: int
    valid: int
    errors: int
    first_error: str
    found_out: tuple[str, ...] = ()
    """What calls proved about the reading of lines (`pytest_bfcl.runs.readings`)."""


def judged_here(pieces: Sequence[Piece], how: Judging, processes: int = 1) -> Iterator[Tally]:
    """Judge all pieces on this machine; a tally after each.

    Raises `UsageError` if no line can be judged, `HarnessError` if a process is lost (memory, a signal).
    """
    if are_cut(pieces):
        pieces = counted(pieces, spread(lines_in, pieces, processes))
    yield from spread(partial(judge_piece, how=how), pieces, min(processes, max(1, len(pieces))))


def judge_piece(piece: Piece, how: Judging) -> Tally:
    """Judge every line of a piece and write the verdicts. Raises `UsageError` if no line can be judged."""
    names: deque[str] = deque()
    lines = valid = errors = 0
    first_error = ""
    readings = how.readings()
    with _writer(how.out, piece.name) as write:
        found = _lines_with_models(lines_of(piece), names)
        for verdict in how.verdicts(found, how.opened(), readings, lines_of(piece), piece.first):
            if "error" in verdict:
                errors += 1
                first_error = first_error or str(verdict["error"])
                verdict["file"] = piece.path
            lines += 1
            valid += verdict.get("valid") is True
            write(names.popleft(), verdict)
    return Tally(piece.path, lines, valid, errors, first_error, tuple(readings.sentences()))


def _lines_with_models(lines: Iterator[Any], names: deque[str]) -> Iterator[Any]:
    """The lines, parsed if possible; the folder of each one's model goes to ``names``."""
    folders: dict[str, str] = {}
    for line in lines:
        if isinstance(line, bytes) and not line.strip():
            yield line
            continue
        model = None
        with suppress(ValueError):  # the judge says why
            line = parsed_line(line)
            model = line.get("model")
        if isinstance(model, str) and model and (model in folders or len(folders) < MOST_FOLDERS):
            names.append(folders.setdefault(model, folder_name(model)[:120]))
        else:
            names.append(NAMELESS)
        yield line


@contextmanager
def _writer(out: str, name: str) -> Iterator[Callable[[str, Parsed], None]]:
    """Writes one piece's verdicts, a file a model; they appear when the piece is complete."""
    files: dict[str, IO[str]] = {}

    def write(model: str, verdict: Parsed) -> None:
        if model not in files:
            folder = Path(out) / f"model={model}"
            folder.mkdir(parents=True, exist_ok=True)
            files[model] = (folder / f".{name}.part").open("w", encoding="utf-8")
        files[model].write(encoded(verdict) + "\n")

    try:
        yield write
    finally:
        for file in files.values():
            file.close()
    for file in files.values():
        os.replace(file.name, Path(file.name).with_name(f"{name}.jsonl"))
