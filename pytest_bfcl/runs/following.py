"""Reading a run that others are writing: each look takes in what was added since the last one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.runs.lines import LONGEST_LINE, parse_object
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.runs.results import checked
from pytest_bfcl.runs.transcripts import INDEX_SUFFIX, EntryKey, Place, TranscriptStore, data_of, indexed


class FollowedResults:
    """The lines of a ``results.jsonl`` in its order, superseded ones too; a line is read once it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def read(self, most: int) -> list[ResultLine]:
        """The next records, at most so many; none when nothing was added. Damaged lines are passed over."""
        found: list[ResultLine] = []
        try:
            if self._path.stat().st_size <= self._at:
                return found
            with open(self._path, "rb") as file:  # opened anew: what was begun and taken back is not kept
                file.seek(self._at)
                while len(found) < most and (raw := file.readline(LONGEST_LINE)).endswith(b"\n"):
                    self._at += len(raw)
                    if (record := _record(raw)) is not None:
                        found.append(record)
        except OSError:  # not there yet
            pass
        return found


def _record(raw: bytes) -> ResultLine | None:
    try:
        return checked(parse_object(raw))
    except ValueError:
        return None


class FollowedTranscripts(TranscriptStore):
    """Transcripts that other processes add to: what is not known is looked for in what their indexes have now."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._read_to: dict[Path, int] = {}
        self._known: dict[EntryKey, Place] = {}

    def load(self, key: EntryKey) -> Parsed | None:
        """See `TranscriptStore.load`."""
        if key not in self._known:
            self._look_again()
        return super().load(key)

    def index(self) -> dict[EntryKey, Place]:
        """Where every transcript known so far lies."""
        return self._known

    def _look_again(self) -> None:
        for path in sorted(self.directory.glob(f"*{INDEX_SUFFIX}")):
            at = self._read_to.get(path, 0)
            with contextlib.suppress(OSError), open(path, "rb") as file:
                file.seek(at)
                whole = file.read().rpartition(b"\n")[0]
                if whole:
                    self._read_to[path] = at + len(whole) + 1
                    self._known.update(_places(whole, data_of(path)))


def _places(lines: bytes, data: Path) -> Iterator[tuple[EntryKey, Place]]:
    for raw in lines.split(b"\n"):
        try:
            found = indexed(parse_object(raw))
        except ValueError:
            continue
        if found is not None:
            key, place = found
            yield key, Place(data, *place)
