"""Files of rollouts judged piece by piece, verdicts by model: what one process, or each worker of a cluster, does.

A piece is a stretch of whole lines of a JSON-lines file, a compressed file, or a row group of a Parquet file; it is
read line by line, so memory does not grow with files. Its verdicts go to ``<out>/model=<name>/<piece>.jsonl``, written
anew when a piece is judged again.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.rescoring import parsed_line, score_lines
from pytest_bfcl.runs.lines import LONGEST_LINE
from pytest_bfcl.runs.snapshots import folder_name

STRETCH = 64 * 1024 * 1024
"""Bytes of a JSON-lines file that are one piece."""
NAMELESS = "unknown"
"""The folder of verdicts on lines that name no model."""


class Piece(NamedTuple):
    """Part of a file. ``start`` and ``end``: bytes, or for Parquet ``start`` the row group; ``first``: line number."""

    path: str
    kind: str
    start: int
    end: int
    first: int = 1

    @property
    def name(self) -> str:
        """A file name of its own for its verdicts."""
        digest = hashlib.sha256(self.path.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        return f"{folder_name(Path(self.path).name)[:60]}-{digest}-{self.start:012d}"


@dataclass(frozen=True, slots=True)
class Judging:
    """How lines are judged (see `pytest_bfcl.rescoring.score_lines`), and where verdicts go."""

    out: str
    data: str = "auto"
    rules: str = "official"
    rest: str = "auto"
    decoder: str | None = None
    think: str = "auto"


class Tally(NamedTuple):
    """What came of one piece."""

    path: str
    lines: int
    valid: int
    errors: int
    first_error: str


def pieces_of(paths: Sequence[str]) -> list[Piece]:
    """The pieces of files, globs and folders of files, in their order, lines not counted yet (`counted`).

    Raises `UsageError` for a path that names nothing.
    """
    found: list[Piece] = []
    for path in (each for text in paths for each in _files(text)):
        size = os.path.getsize(path)
        if _is_parquet(path):
            found += [Piece(path, "parquet", group, group + 1) for group in range(_groups(path))]
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
    if os.path.isdir(path):
        names = sorted(str(each) for each in Path(path).rglob("*") if each.suffix in (".jsonl", ".gz", ".parquet"))
    else:
        names = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    if not names or not all(map(os.path.isfile, names)):
        raise UsageError(f"no file at {text}: name .jsonl, .jsonl.gz or .parquet files, a folder or a pattern of them")
    return names


def lines_in(piece: Piece) -> int:
    """How many lines begin in a piece of JSON lines, or rows in a row group."""
    if piece.kind == "parquet":
        return int(_parquet().ParquetFile(piece.path).metadata.row_group(piece.start).num_rows)
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


def judge_piece(piece: Piece, how: Judging) -> Tally:
    """Judge every line of a piece and write the verdicts. Raises `UsageError` where no line can be judged."""
    names: deque[str] = deque()
    lines = valid = errors = 0
    first_error = ""
    with _Verdicts(how.out, piece.name) as verdicts:
        found = _named(_read(piece), names)
        for verdict in score_lines(found, how.data, how.rules, how.rest, how.decoder, how.think, first=piece.first):  # type: ignore[arg-type]
            if "error" in verdict:
                errors += 1
                first_error = first_error or str(verdict["error"])
                verdict["file"] = piece.path
            lines += 1
            valid += verdict.get("valid") is True
            verdicts.write(names.popleft(), verdict)
    return Tally(piece.path, lines, valid, errors, first_error)


def _named(lines: Iterator[Any], names: deque[str]) -> Iterator[Any]:
    """The lines, parsed where they can be; the model of each is put aside."""
    for line in lines:
        if isinstance(line, bytes) and not line.strip():
            yield line
            continue
        try:
            line = parsed_line(line)
        except ValueError:
            names.append(NAMELESS)
        else:
            model = line.get("model")
            names.append(folder_name(model) if isinstance(model, str) and model else NAMELESS)
        yield line


class _Verdicts:
    """One piece's files of verdicts, one a model; they appear when the piece is done."""

    def __init__(self, out: str, name: str) -> None:
        self._out = Path(out)
        self._name = name
        self._files: dict[str, IO[str]] = {}
        self._encode = json.JSONEncoder(default=str, separators=(",", ":")).encode

    def write(self, model: str, verdict: Parsed) -> None:
        if model not in self._files:
            folder = self._out / f"model={model[:120]}"
            folder.mkdir(parents=True, exist_ok=True)
            self._files[model] = (folder / f".{self._name}.part").open("w", encoding="utf-8")
        self._files[model].write(self._encode(verdict) + "\n")

    def __enter__(self) -> _Verdicts:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for file in self._files.values():
            file.close()
            if kind is None:
                os.replace(file.name, Path(file.name).with_name(f"{self._name}.jsonl"))


def _read(piece: Piece) -> Iterator[Any]:
    if piece.kind == "parquet":
        return _rows(piece)
    return _unpacked(piece) if piece.kind == "gzip" else _stretch(piece)


def _stretch(piece: Piece) -> Iterator[bytes]:
    """The lines that begin in a stretch; the last one may end beyond it."""
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


def _rows(piece: Piece) -> Iterator[Parsed]:
    """The rows of a row group as replay lines; columns without a value are left out."""
    group = _parquet().ParquetFile(piece.path)
    for batch in group.iter_batches(batch_size=1024, row_groups=[piece.start]):
        for row in batch.to_pylist():
            yield {name: value for name, value in row.items() if value is not None}


def _is_packed(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _is_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _groups(path: str) -> int:
    try:
        return int(_parquet().ParquetFile(path).metadata.num_row_groups)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is damaged or unreadable: {error}") from error


def _parquet() -> Any:
    from pytest_bfcl.extras import require

    require("tables", "reading Parquet files")
    import pyarrow.parquet

    return pyarrow.parquet
