"""The index of one ``results.jsonl``: one pass over it, then any line is found and read alone; grows with the file.

What counts is what `pytest_bfcl.runs.results.read_results` gives: the last readable line of each key, in
the order in which the keys first appeared. A last line without its end is left until it is whole.

An index is an SQLite database in the user's cache folder, never in a run, so that opening 200 runs again reads no
results. It holds ids, reasons and headlines of the user's runs, so only the user may read it. What is damaged, of
another version or of a file that is not the same any more is made again silently.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from pytest_bfcl.dataset.index import read_line
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.fetching.official import cache_root
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.listing import TEXT, total_of
from pytest_bfcl.runs.lines import DamagedLine, open_regular, parse_object, whole_lines
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.runs.results import checked

VERSION = 3
MAX_DAMAGED = 200
"""Damaged lines kept with their reason; more are only counted."""
TAIL = 400
"""Bytes before the end of what was taken in that must still be there when the file has grown."""
KEPT_S = 60 * 86_400
"""An index that was not used for so long is removed."""
TOGETHER = 5_000
"""Lines that are stored at once."""


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


class Row(NamedTuple):
    """One line: its key, what was decided, where it lies (bytes); ``None`` where nothing was recorded."""

    number: int
    id: str
    category: str
    model: str
    mode: str
    repeat: int
    outcome: str
    corrected_outcome: str | None
    official_outcome: str | None
    tag: str | None
    reason: str | None
    corrected_reason: str | None
    official_reason: str | None
    verified_outcome: str | None
    offset: int
    length: int
    latency_s: float | None
    cost_usd: float | None

    @classmethod
    def of(cls, number: int, line: Fields, offset: int, length: int) -> Row:
        """A line that lies there."""
        latency, cost = total_of(line.get("latency_s")), line.get("cost_usd")
        words = [_stored(line.get(name)) for name in cls._fields]
        made = cls._make([number, *words[1:-4], offset, length, latency, None if cost is None else float(cost)])
        return made._replace(repeat=min(line.get("repeat") or 1, 1 << 31))

    def as_line(self) -> ResultLine:
        """The line as far as it is known here: enough for tallies and comparisons."""
        told = ((name, getattr(self, name)) for name in _OF_LINE)
        return cast("ResultLine", {name: value for name, value in told if value is not None or name in _ALWAYS})


_ALWAYS = ("tag", "reason", "corrected_outcome", "corrected_reason", "cost_usd", "latency_s")
"""Fields that every line has, if only as ``None``."""
_OF_LINE = tuple(name for name in Row._fields if name not in ("number", "offset", "length"))
_COLUMNS = ", ".join(Row._fields)
_SCHEMA = f"""
CREATE TABLE lines ({_COLUMNS}, text, PRIMARY KEY (number)) WITHOUT ROWID;
CREATE TABLE counted (place INTEGER PRIMARY KEY, id, model, mode, repeat, number, UNIQUE (id, model, mode, repeat));
CREATE TABLE damaged (line, why);
CREATE TABLE state (size, mtime_ns, inode, read, lines, count, damaged, tail);
"""
_COUNTED = f"SELECT {', '.join(f'lines.{name}' for name in Row._fields)} FROM counted JOIN lines USING (number)"


def open_index(results: Path, folder: Path | None = None) -> RunIndex:
    """The index of a results file as it is now, from the cache as far as that is right. Raises `OSError`.

    ``folder``: where the cache lies, by default the user's. A cache that cannot be written is none.
    """
    name = hashlib.blake2b(os.fsencode(os.path.realpath(results)), digest_size=16).hexdigest()
    database = (cache_folder() if folder is None else folder) / f"{name}.sqlite"
    for _ in range(2):
        try:
            database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(database, os.O_WRONLY | os.O_CREAT, 0o600))
            return _caught_up(RunIndex(results, database))
        except (StaleIndexError, sqlite3.Error, ValueError, TypeError):  # of another file, version or shape
            with contextlib.suppress(OSError):
                database.unlink(missing_ok=True)
        except OSError:
            break
    return _caught_up(RunIndex(results))


def _caught_up(index: RunIndex) -> RunIndex:
    index.catch_up()
    return index


def cache_folder() -> Path:
    """Where indexes are kept."""
    return cache_root() / "view"


def prune() -> None:
    """Remove the indexes that were not used for a long time."""
    with contextlib.suppress(OSError):
        for path in cache_folder().iterdir():
            if time.time() - path.stat().st_mtime > KEPT_S:
                path.unlink(missing_ok=True)


class RunIndex:
    """The lines of one results file, in ``database`` or in memory.

    ``read`` are the bytes taken in so far, ``count`` the readable lines among them, ``stamp`` the file at that moment.
    Raises `sqlite3.Error` for a database that is damaged.
    """

    def __init__(self, path: Path, database: Path | None = None) -> None:
        self.path = path
        self.damaged: list[DamagedLine] = []
        self.damaged_count = 0
        self.stamp: Stamp | None = None
        self.read = self.lines = self.count = 0
        self._tail = b""
        self._database = database
        self._memory = None if database else sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with self._connected(write=True) as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")
            elif version != VERSION:
                raise sqlite3.DatabaseError("an index of another version")
            self._load(db)
        if database is not None:
            os.utime(database)

    @contextlib.contextmanager
    def _connected(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """The database; for writing in one transaction, which other processes wait for."""
        db = self._memory or sqlite3.connect(self._database or "", isolation_level=None, timeout=60)
        try:
            db.execute("PRAGMA synchronous = OFF")  # a cache: what a crash leaves is made again
            if write:
                db.execute("BEGIN IMMEDIATE")
            yield db
            if write:
                db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        finally:
            if db is not self._memory:
                db.close()

    def _load(self, db: sqlite3.Connection) -> None:
        """Take over what is stored; a database may have been written by another process since."""
        found = db.execute("SELECT * FROM state").fetchone()
        if found is not None:
            size, mtime_ns, inode, self.read, self.lines, self.count, self.damaged_count, self._tail = found
            self.stamp = Stamp(size, mtime_ns, inode)
            self.damaged = [DamagedLine(self.path, line, why) for line, why in db.execute("SELECT * FROM damaged")]

    def __len__(self) -> int:
        """Entries: keys, not lines."""
        return int(self._selected("SELECT count(*) FROM counted")[0][0])

    def _selected(self, sql: str, *values: object) -> list[Any]:
        with self._connected() as db:
            return db.execute(sql, values).fetchall()

    @property
    def torn(self) -> bool:
        """Whether the file ended in an incomplete line."""
        return self.stamp is not None and self.stamp.size > self.read

    # Growing.

    def catch_up(self) -> bool:
        """Index added lines; returns whether there were any. Raises `StaleIndexError` for another file."""
        stamp = Stamp.of(self.path)
        if stamp == self.stamp:
            return False
        if stamp is None:
            if self.read:
                raise StaleIndexError(f"{self.path} is gone")
            return False
        before = self.read
        with self._connected(write=True) as db:
            self._load(db)
            if stamp != self.stamp:
                self._refuse_other(stamp)
                self._take_in(db)
                self.stamp = stamp
                db.execute("DELETE FROM state")
                state = (stamp.size, stamp.mtime_ns, stamp.inode, self.read, self.lines, self.count)
                db.execute("INSERT INTO state VALUES (?,?,?,?,?,?,?,?)", (*state, self.damaged_count, self._tail))
        return self.read != before

    def _refuse_other(self, stamp: Stamp) -> None:
        if stamp.size < self.read or (self.stamp is not None and stamp.inode != self.stamp.inode):
            raise StaleIndexError(f"{self.path} was replaced")
        changed = self.stamp is not None and stamp.size == self.stamp.size
        tail = len(self._tail)
        if changed or (tail and read_line(self.path, self.read - tail, tail) != self._tail):
            raise StaleIndexError(f"{self.path} was changed")

    def _take_in(self, db: sqlite3.Connection) -> None:
        rows: list[tuple[Any, ...]] = []
        with open_regular(self.path) as file:
            file.seek(self.read)
            for raw in whole_lines(file):
                if not raw.endswith(b"\n") and not _is_whole(raw):
                    break
                if raw.strip() and (row := self._row(db, raw)) is not None:
                    rows.append(row)
                self.lines += raw.endswith(b"\n")
                self.read += len(raw)
                self._tail = raw[-TAIL:]
                if len(rows) == TOGETHER:
                    _store(db, rows)
                    rows = []
        _store(db, rows)

    def _row(self, db: sqlite3.Connection, raw: bytes) -> tuple[Any, ...] | None:
        """A line and its headline; a damaged one is kept as such."""
        try:
            line = checked(parse_object(raw))
            text = headline(line)
        except ValueError as error:
            self.damaged_count += 1
            if len(self.damaged) < MAX_DAMAGED:
                self.damaged.append(DamagedLine(self.path, self.lines + 1, str(error)))
                db.execute("INSERT INTO damaged VALUES (?, ?)", (self.lines + 1, _stored(str(error))))
            return None
        self.count += 1
        return *Row.of(self.count, line, self.read, len(raw)), _stored(text[:TEXT])

    # Reading.

    def rows(self, after: int = 0) -> Iterator[Row]:
        """What counts, in order; ``after``: without the first entries."""
        return map(Row._make, self._selected(f"{_COUNTED} WHERE place > ? ORDER BY place", after))

    def listed(self) -> Iterator[tuple[Row, str]]:
        """What counts, each with its headline."""
        found = self._selected(f"{_COUNTED.replace(' FROM', ', text FROM')} ORDER BY place")
        return ((Row._make(values[:-1]), values[-1]) for values in found)

    def verdicts(self) -> list[tuple[str, str, int, str]]:
        """Model, entry, repeat and outcome of what counts, in order: without making rows of a million lines."""
        fields = "counted.model, counted.id, counted.repeat, outcome"
        return self._selected(f"SELECT {fields} FROM counted JOIN lines USING (number) ORDER BY place")

    def models(self) -> Counter[str]:
        """Model → lines that count."""
        sql = "SELECT model, count(*) FROM counted GROUP BY model ORDER BY min(place)"
        return Counter(dict(self._selected(sql)))

    def newest(self, most: int) -> Iterator[Row]:
        """The last lines of the file that failed or ended in an error, the last one first."""
        sql = f"SELECT {_COLUMNS} FROM lines WHERE outcome IN ('failed', 'error') ORDER BY number DESC LIMIT ?"
        return map(Row._make, self._selected(sql, most))

    def of_entry(self, entry_id: str) -> list[Row]:
        """What counts of one entry: a line for each model and repeat."""
        found = self._selected(f"{_COUNTED} WHERE counted.id = ? ORDER BY place", _stored(entry_id))
        return list(map(Row._make, found))

    def ids(self) -> list[str]:
        """The ids of all entries."""
        return [entry_id for (entry_id,) in self._selected("SELECT DISTINCT id FROM counted")]

    def line(self, row: Row) -> ResultLine:
        """The whole line of a row. Raises `StaleIndexError` if another line is there now."""
        try:
            line = checked(parse_object(read_line(self.path, row.offset, row.length)))
        except (OSError, ValueError) as error:
            raise StaleIndexError(f"{self.path} was changed: {error}") from error
        if Row.of(row.number, line, row.offset, row.length)[:6] != row[:6]:
            raise StaleIndexError(f"{self.path} was changed")
        return line


def _store(db: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> None:
    marks = ",".join("?" * (len(Row._fields) + 1))
    db.executemany(f"INSERT INTO lines VALUES ({marks})", rows)
    keys = [(row[1], row[3], row[4], row[5], row[0]) for row in rows]
    db.executemany(
        "INSERT INTO counted (id, model, mode, repeat, number) VALUES (?,?,?,?,?)"
        " ON CONFLICT (id, model, mode, repeat) DO UPDATE SET number = excluded.number",
        keys,
    )


def _stored(value: object) -> str | None:
    """A text that a database takes: unpaired surrogates as escapes."""
    return None if value is None else str(value).encode("utf-8", "backslashreplace").decode()


def _is_whole(raw: bytes) -> bool:
    """Whether a last line without its end is a complete object."""
    try:
        parse_object(raw)
    except ValueError:
        return False
    return True
