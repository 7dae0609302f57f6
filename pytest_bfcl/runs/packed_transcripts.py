"""Messages as runs of earlier releases have them, read only: packed apart from the journal.

``transcripts/<process>.jsonl.gz`` holds one gzip member per entry, ``<process>.index.jsonl`` beside it says where each
lies. New runs have them in the journal (`pytest_bfcl.runs.transcripts`).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pytest_bfcl.dataset.index import LineFiles
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.lines import LONGEST_LINE, DamagedLine, OnDamaged, parse_object, read_json_lines
from pytest_bfcl.runs.result_line import EntryKey

INDEX_SUFFIX = ".index.jsonl"
BEYOND = "the index leads beyond its end"
LONGEST_ASKED = 1 << 20
"""Bytes of a member up to which reading tells whether they are there."""
GZIP = 16 + zlib.MAX_WBITS
"""What `zlib` calls data with the header and checksum of a gzip file."""


class Place(NamedTuple):
    """Where a transcript lies: its file, and in it offset and length in bytes."""

    path: Path
    offset: int
    length: int


class PackedTranscripts:
    """The packed transcripts of one run, those of all its processes; ``damaged``: lines of indexes that tell none."""

    def __init__(self, directory: Path) -> None:
        self.damaged: list[DamagedLine] = []
        self.places: dict[EntryKey, Place] = {}
        for path in sorted(directory.glob(f"*{INDEX_SUFFIX}")):
            data = path.with_name(path.name.removesuffix(INDEX_SUFFIX) + ".jsonl.gz")
            found = _read_index(path, self.damaged.append)
            self.places.update((key, Place(data, *place)) for key, place in found)

    def load(self, key: EntryKey, files: LineFiles) -> Parsed | None:
        """The record of ``key`` (``messages``, ``functions``), or ``None``. Raises `OSError`, `ValueError`."""
        if (place := self.places.get(key)) is None:
            return None
        path, offset, length = place
        if length > LONGEST_ASKED and offset + length > path.stat().st_size:
            raise ValueError(BEYOND)  # nobody asks the system for that much room
        if len(member := files.read(path, offset, length)) < length:
            raise ValueError(BEYOND)
        try:
            return parse_object(_unpacked(member))
        except zlib.error as error:
            raise ValueError(str(error)) from None

    def cut(self) -> Iterator[tuple[Path, EntryKey, str]]:
        """The transcripts behind the end of their file, and what is wrong with them."""
        for key, (path, offset, length) in self.places.items():
            try:
                if offset + length > path.stat().st_size:
                    yield path, key, BEYOND
            except OSError as error:
                yield path, key, error.strerror or str(error)


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


def is_place(value: object) -> bool:
    """Whether a value can be a position or a length in a file, in bytes."""
    return type(value) is int and 0 <= value < 1 << 48
