"""JSON lines on disk: appended whole or not at all; damage is reported, not raised.

Every append-only file of a run directory (results, journal, index of transcripts) goes through these two functions.
They guarantee that no reported line is lost and no damaged line is used.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import math
import os
import shutil
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.paths import below
from pytest_bfcl.spread_json import read_json
from pytest_bfcl.troubles import HarnessTrouble

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
MAX_DEPTH = 200
"""Deepest nesting that is written; deeper decoded output is replaced by a note."""
DEEPEST_LINE = 400
"""Deepest nesting that is read: each level takes a few of Python's 1,000 frames."""
LONGEST_LINE = 1 << 28
"""Longest line of a run in bytes; longer ones would only fill the memory."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """A damaged line: ``line`` is one-based, ``why`` a short reason."""

    path: Path
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.why}"


OnDamaged = Callable[[DamagedLine], None]


def unheard(line: DamagedLine) -> None:
    """For callers that leave damaged lines out without a word."""


class JsonLine(NamedTuple):
    """One readable line: its one-based number, its position in bytes, and the object."""

    number: int
    offset: int
    length: int
    value: Parsed


def json_line(value: Fields | Sequence[Fields]) -> bytes:
    """One UTF-8 JSON line with its newline, for any decoded value.

    NaN, infinities, sets, bytes, non-text keys (``None`` is ``null``, as JSON has it), over-long integers and lone
    surrogates are written as text, so the line is always strict JSON.
    """
    try:
        return _ENCODER.encode(value).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"
    except (TypeError, ValueError, RecursionError):
        return json.dumps(plain(value), separators=(",", ":")).encode() + b"\n"


def json_line_of_parsed(value: Fields | Sequence[Fields]) -> bytes:
    """The same for values made of JSON (messages, tool documents), in a quarter of the time."""
    import pydantic_core

    try:
        line = pydantic_core.to_json(value)
    except (pydantic_core.PydanticSerializationError, ValueError, RecursionError):
        return json_line(value)
    odd = b"NaN" in line or b"Infinity" in line  # as a word of a text, usually
    return json_line(value) if odd else line + b"\n"


def _key(key: object) -> str:
    """A key as `json.dumps` writes it: a call in Python syntax may have ``None`` or ``True`` as one."""
    return json.dumps(key) if key is None or isinstance(key, bool) else str(key)


def plain(value: object, depth: int = 0) -> Any:
    """A strict-JSON copy of any value; other types become text."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= 10_000 else f"<integer of {value.bit_length()} bits>"
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if depth > MAX_DEPTH:
        return "<nested too deeply>"
    if isinstance(value, Mapping):
        return {_key(k): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return str(value)


class LineAppender:
    """An append-only file of JSON lines with one writer.

    Each `append` reaches the operating system before it returns; `close` also waits for the disk. A failed write (disk
    full) is undone back to the last complete line and raised as `HarnessError`. A last line without newline (after a
    crash) is ended, never joined with the next line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd: int | None = os.open(path, flags, 0o644)
        except OSError as error:
            raise storage_error(path, error) from error
        self.size = os.fstat(self._fd).st_size
        if self.size:
            os.lseek(self._fd, self.size - 1, os.SEEK_SET)
            if os.read(self._fd, 1) != b"\n":
                self.append_bytes(b"\n")

    def append(self, value: Fields) -> tuple[int, int]:
        """Write one line; returns its offset and length in bytes. Raises `HarnessError` (kind ``storage``)."""
        return self.append_bytes(json_line(value))

    def append_bytes(self, data: bytes) -> tuple[int, int]:
        """Write raw bytes completely or not at all."""
        with self._lock:
            if self._fd is None:
                raise HarnessError(HarnessTrouble.STORAGE, f"{self.path} is closed")
            start = self.size
            try:
                written = os.write(self._fd, data)
                while written < len(data):
                    written += os.write(self._fd, memoryview(data)[written:])
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, start)
                raise storage_error(self.path, error) from error
            self.size = start + len(data)
            return start, len(data)

    def close(self) -> None:
        """Wait until everything is on disk, and close; closing twice is fine."""
        fd, self._fd = self._fd, None
        if fd is not None:
            try:
                os.fsync(fd)
            except OSError as error:
                raise storage_error(self.path, error) from error
            finally:
                os.close(fd)


def storage_error(path: Path, error: OSError) -> HarnessError:
    """A disk error as this package reports it."""
    if error.errno in _FULL:
        what = f"the disk is full: cannot write to {path}"
        advice = "free some space and repeat the command (a run: with --bfcl-out RUN); what was reported is kept"
    else:
        what = f"cannot write to {path}: {error.strerror or error}"
        advice = "check the folder's permissions; what was reported is kept"
    return HarnessError(HarnessTrouble.STORAGE, f"{what} ({advice})", advice=advice)


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace a small file atomically: readers see the old or the new content."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise storage_error(path, error) from error


@contextlib.contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A temporary place next to ``target``, or in a target folder. At the end its files replace the target's; if
    writing fails, they are removed. Raises `UsageError` with the file that did not fit on the disk, and for a link that
    leaves the folder.
    """
    name = f".{target.name}.{os.getpid()}{target.suffix}"
    beside = target / name if target.is_dir() else target.with_name(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        if beside.is_file():
            os.replace(beside, target)
            return
        places = {path: below(target, target / path.relative_to(beside)) for path in _files_in(beside)}
        for path, place in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, place)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        last = max(_files_in(beside), key=lambda path: path.stat().st_mtime_ns, default=beside)
        where = target / last.relative_to(beside)
        raise UsageError(f"the disk is full: cannot write {where}; nothing was written, free some space") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        with contextlib.suppress(OSError):
            beside.unlink()


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def read_json_lines(path: Path, on_damaged: OnDamaged = unheard) -> Iterator[JsonLine]:
    """Every readable line in file order; blank lines are skipped, damaged ones go to ``on_damaged``.

    ``.gz`` files are read through gzip (offsets are then those of the unpacked bytes).
    """
    number = offset = 0
    with _open(path) as file:
        try:
            for raw in whole_lines(file):
                number += 1
                if raw.strip():
                    try:
                        yield JsonLine(number, offset, len(raw), parse_object(raw))
                    except ValueError as error:
                        on_damaged(DamagedLine(path, number, str(error)))
                offset += len(raw)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            on_damaged(DamagedLine(path, number + 1, f"compressed data is broken: {error}"))


def whole_lines(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    """The lines of a file, one in memory at a time. Raises `UsageError` for a line that no run writes."""
    while raw := file.readline(LONGEST_LINE):
        if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            raise UsageError(f"{getattr(file, 'name', 'the file')} has a line of more than {LONGEST_LINE >> 20} MB")
        yield raw


def open_regular(path: Path) -> IO[bytes]:
    """A file opened for reading; not a pipe or device, which could block. Raises `OSError`."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(path, "rb")


def parse_object(raw: bytes) -> Parsed:
    """One line as an object; `ValueError` with a short reason otherwise.

    The fast parser refuses a few texts that Python's accepts (lone surrogates, a byte order mark): then Python's
    decides and gives the error.
    """
    import pydantic_core

    try:
        value = pydantic_core.from_json(raw)
    except ValueError:
        value = _slowly_parsed(raw)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _slowly_parsed(raw: bytes) -> Any:
    try:
        value = read_json(raw)
    except ValueError as error:
        cut = " (the line is cut off)" if str(error).startswith("not JSON") and not raw.endswith(b"\n") else ""
        raise ValueError(f"{error}{cut}") from None
    if not shallow(value, DEEPEST_LINE):
        raise ValueError("nested too deeply")
    return value


def shallow(value: object, limit: int) -> bool:
    """Whether lists and objects have at most ``limit`` levels."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return False


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    file = open_regular(path)
    return gzip.GzipFile(filename=str(path), fileobj=file) if path.name.endswith(".gz") else file


ALLOW = "--allow-missing"


class LeftOut:
    """Collects damaged lines while reading, each counted once."""

    def __init__(self) -> None:
        self._lines: dict[tuple[Path, int], DamagedLine] = {}

    def __call__(self, line: DamagedLine) -> None:
        """Record one damaged line, or a damaged file (line 0)."""
        self._lines.setdefault((line.path, line.line), line)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def lines(self) -> list[DamagedLine]:
        """The damaged lines in the order of reading."""
        return list(self._lines.values())

    def sentences(self) -> Iterator[str]:
        """One sentence a file: the number of damaged lines, the first of them and its error."""
        files: dict[Path, list[DamagedLine]] = {}
        for line in self._lines.values():
            files.setdefault(line.path, []).append(line)
        for path, lines in files.items():
            if not lines[0].line:  # a file that is one value
                yield f"{path}: {lines[0].why}"
                continue
            yield damage(len(lines), min(lines, key=lambda line: line.line))


def damage(count: int, first: DamagedLine) -> str:
    """The damaged lines of one file in words."""
    lines, first_of = ("1 damaged line", "") if count == 1 else (f"{count} damaged lines", ", the first")
    return f"{lines} of {first.path} left out{first_of}: line {first.line}: {first.why}"


class IncompleteError(HarnessError):
    """A score is requested of results with gaps."""

    def __init__(self, gaps: Iterable[str], *, allow: str = ALLOW) -> None:
        found = list(gaps)
        shown = [*found[:3], f"and {len(found) - 3} more"] if len(found) > 4 else found
        listed = "; ".join(shown)
        advice = f"run the entries again (pytest … --bfcl-out RUN), or accept the gaps with {allow}"
        super().__init__("incomplete", f"the results are not complete: {listed}\n({advice})", advice=advice)
