"""The messages exactly as sent and received, one compressed record per entry.

``transcripts/<process>.jsonl.gz`` holds one gzip member per entry (``zcat`` reads the file as ordinary JSON lines),
beside it ``<process>.index.jsonl`` says where each member lies. One file instead of thousands keeps large runs quick;
a crash can tear only the member being written, which the index then does not list.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pytest_bfcl.dataset.index import LineFiles
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.lines import (
    LONGEST_LINE,
    DamagedLine,
    LineAppender,
    OnDamaged,
    json_line_of_parsed,
    parse_object,
    read_json_lines,
)
from pytest_bfcl.transcript import Transcript
from pytest_bfcl.troubles import HarnessTrouble

INDEX_SUFFIX = ".index.jsonl"
BEYOND = "the index leads beyond its end"
LONGEST_ASKED = 1 << 20
"""Bytes of a member up to which reading tells whether they are there."""
GZIP = 16 + zlib.MAX_WBITS
"""What `zlib` calls data with the header and checksum of a gzip file."""


class EntryKey(NamedTuple):
    """What one result or transcript is about; ``repeat`` counts from 1."""

    model: str
    mode: str
    entry_id: str
    repeat: int = 1


def packed_transcript(transcript: Transcript) -> tuple[EntryKey, bytes]:
    """One conversation's messages and offered functions, compressed as `TranscriptStore` keeps them."""
    key = EntryKey(transcript.model, transcript.mode, transcript.entry_id, transcript.repeat)
    return key, _packed(key, {"messages": transcript.messages, "functions": transcript.functions})


def _packed(key: EntryKey, record: Fields) -> bytes:
    body = _key_dict(key) | dict(record)
    return gzip.compress(json_line_of_parsed(body), compresslevel=1, mtime=0)


class Place(NamedTuple):
    """Where a transcript lies: its file, and in it offset and length in bytes."""

    path: Path
    offset: int
    length: int


class TranscriptStore:
    """The transcripts of one run; one writer per process name, readers see all processes."""

    def __init__(self, directory: Path, process: str = "main") -> None:
        self.directory = directory
        self._data_path = directory / f"{process}.jsonl.gz"
        self._index_path = directory / f"{process}{INDEX_SUFFIX}"
        self._writers: tuple[LineAppender, LineAppender] | None = None
        self._index: dict[EntryKey, Place] | None = None
        self._damaged_lines: list[DamagedLine] = []
        self._unreadable: dict[Path, dict[EntryKey, str]] = {}
        self._files = LineFiles()

    def save(self, transcript: Transcript) -> None:
        """Append one conversation's messages and offered functions."""
        self.append_member(*packed_transcript(transcript))

    def save_record(self, key: EntryKey, record: Fields) -> None:
        """Append one record under ``key``; the last one saved counts."""
        self.append_member(key, _packed(key, record))

    def append_member(self, key: EntryKey, member: bytes) -> None:
        """Append a record that is compressed already (`packed_transcript`)."""
        data, index = self._writers or self._open()
        offset, length = data.append_bytes(member)
        index.append_bytes(json_line_of_parsed(_key_dict(key) | {"offset": offset, "length": length}))
        if self._index is not None:
            self._index[key] = Place(self._data_path, offset, length)

    def load(self, key: EntryKey) -> Parsed | None:
        """The record of ``key`` (``messages``, ``functions`` …), or ``None`` when none was saved."""
        place = self.index().get(key)
        if place is None:
            return None
        path, offset, length = place
        try:
            if length > LONGEST_ASKED and offset + length > path.stat().st_size:
                raise ValueError(BEYOND)  # nobody asks the system for that much room
            if len(member := self._files.read(path, offset, length)) < length:
                raise ValueError(BEYOND)
            return parse_object(_unpacked(member))
        except (OSError, ValueError, zlib.error) as error:
            self._unreadable.setdefault(path, {})[key] = str(error)
            raise HarnessError(
                HarnessTrouble.STORAGE, f"cannot read the transcript of {key.entry_id} from {path}: {error}"
            ) from error

    def index(self) -> dict[EntryKey, Place]:
        """Where every saved transcript lies."""
        if self._index is None:
            self._index = {}
            for path in sorted(self.directory.glob(f"*{INDEX_SUFFIX}")):
                data = data_of(path)
                found = _read_index(path, self._damaged_lines.append)
                self._index.update((key, Place(data, *place)) for key, place in found)
        return self._index

    def damaged(self) -> Iterator[DamagedLine]:
        """Lines of the index that cannot be read, and data files with transcripts that could not be (``line`` 0)."""
        yield from self._damaged_lines
        for path, found in self._unreadable.items():
            key, why = next(iter(found.items()))
            count = "1 transcript" if len(found) == 1 else f"{len(found)} transcripts"
            yield DamagedLine(path, 0, f"{count} cannot be read, the first of {key.entry_id}: {why}")

    def find_cut(self) -> None:
        """Look for transcripts behind the end of their file, as `load` does for one; `damaged` tells of them."""
        for key, (path, offset, length) in self.index().items():
            try:
                if offset + length > path.stat().st_size:
                    self._unreadable.setdefault(path, {})[key] = BEYOND
            except OSError as error:
                self._unreadable.setdefault(path, {})[key] = error.strerror or str(error)

    def records(self) -> Iterator[tuple[EntryKey, Parsed]]:
        """All transcripts, in no particular order."""
        for key in list(self.index()):
            record = self.load(key)
            if record is not None:
                yield key, record

    def close(self) -> None:
        """Flush to disk and close."""
        for writer in self._writers or ():
            writer.close()
        self._writers = None
        self._files = LineFiles()

    def _open(self) -> tuple[LineAppender, LineAppender]:
        end = max((offset + length for _, (offset, length) in _read_index(self._index_path)), default=0)
        if self._data_path.exists() and self._data_path.stat().st_size > end:
            with open(self._data_path, "r+b") as file:  # a member torn by a crash: nothing lists it
                file.truncate(end)
        # Members are not lines: a missing last newline is normal, so the appender must not add one.
        self._writers = (LineAppender(self._data_path, lines=False), LineAppender(self._index_path))
        return self._writers


def _unpacked(data: bytes) -> bytes:
    """One gzip member; raises `ValueError` when it is cut off, or larger than any transcript."""
    unpacker = zlib.decompressobj(GZIP)
    content = unpacker.decompress(data, LONGEST_LINE)
    if not unpacker.eof:
        raise ValueError("the compressed data is cut off, or too large")
    return content


def _read_index(path: Path, on_damaged: OnDamaged | None = None) -> Iterator[tuple[EntryKey, tuple[int, int]]]:
    if not path.is_file():
        return
    for line in read_json_lines(path, on_damaged):
        found = indexed(line.value)
        if found is not None:
            yield found
        elif on_damaged is not None:
            on_damaged(DamagedLine(path, line.number, "no place of a transcript"))


def indexed(line: Fields) -> tuple[EntryKey, tuple[int, int]] | None:
    """What a line of an index tells: a transcript, its offset and length in bytes; ``None`` when it tells no such."""
    texts = [line.get(name) for name in ("model", "mode", "id")]
    numbers = [line.get(name) for name in ("repeat", "offset", "length")]
    if all(isinstance(text, str) for text in texts) and all(map(is_place, numbers)):
        return EntryKey(line["model"], line["mode"], line["id"], line["repeat"]), (line["offset"], line["length"])
    return None


def data_of(index: Path) -> Path:
    """The file an index is of."""
    return index.with_name(index.name.removesuffix(INDEX_SUFFIX) + ".jsonl.gz")


def is_place(value: object) -> bool:
    """Whether a value can be a position or a length in a file, in bytes."""
    return type(value) is int and 0 <= value < 1 << 48


def _key_dict(key: EntryKey) -> Parsed:
    return {"id": key.entry_id, "model": key.model, "mode": key.mode, "repeat": key.repeat}
