"""Cached indexes in the user's cache folder, never in a run: opening 200 runs again reads no results.

A file's name is the digest of the results file's path, and it contains a digest of itself. Damaged files, other
versions and indexes of changed files are replaced silently. Indexes contain ids, reasons and headlines of the user's
runs, so only the user may read them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
from array import array
from collections.abc import Callable
from pathlib import Path

from pytest_bfcl.extensions.view.columns import Columns
from pytest_bfcl.extensions.view.index import RunIndex, StaleIndexError, Stamp
from pytest_bfcl.fetching.official import cache_root
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.runs.lines import DamagedLine

VERSION = "pytest-bfcl view 1"
LARGEST = 1 << 30
"""Largest cached index in bytes."""
KEPT_S = 60 * 86_400
"""An index unused for this time is removed."""


def open_index(results: Path, shared: dict[str, str] | None = None, folder: Path | None = None) -> RunIndex:
    """The present index of a results file, from the cache as far as it is valid. Raises `OSError`. ``folder``: the
    cache's folder, by default the user's.
    """
    store = IndexCache(folder)
    shared = {} if shared is None else shared
    index = store.load(results, shared)
    try:
        if index is not None and not index.catch_up():
            return index
    except StaleIndexError:
        index = None
    if index is None:
        index = RunIndex(results, shared)
        index.catch_up()
    store.save(index)
    index.rest()
    return index


class IndexCache:
    """The folder of cached indexes."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_root() / "view" if folder is None else folder

    def path_of(self, results: Path) -> Path:
        """The cache file for the index of a results file."""
        name = hashlib.blake2b(os.fsencode(os.path.realpath(results)), digest_size=16).hexdigest()
        return self.folder / f"{name}.index"

    def load(self, results: Path, shared: dict[str, str]) -> RunIndex | None:
        """The cached index; ``None`` without a readable one."""
        path = self.path_of(results)
        try:
            if not path.is_file() or path.stat().st_size > LARGEST:
                return None
            index = _read(results, path.read_bytes(), shared)
            os.utime(path)
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            return None
        return index

    def save(self, index: RunIndex) -> None:
        """Store an index; errors are ignored."""
        path = self.path_of(index.path)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(_written(index))
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)

    def prune(self) -> None:
        """Remove indexes that were not used for a long time."""
        with contextlib.suppress(OSError):
            for path in self.folder.glob("*.index*"):
                if time.time() - path.stat().st_mtime > KEPT_S:
                    path.unlink(missing_ok=True)


def _written(index: RunIndex) -> bytes:
    about, parts = index.columns.to_parts()
    stamp = index.stamp or Stamp(0, 0, 0)
    head: Parsed = {
        "version": VERSION,
        "stamp": [stamp.size, stamp.mtime_ns, stamp.inode],
        "read": index.read,
        "lines": index.lines,
        "digest": index.digest,
        "damaged": [[line.line, line.why] for line in index.damaged],
        "damaged_count": index.damaged_count,
        "order": len(index.order()),
        "columns": about,
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    body = b"".join([len(text).to_bytes(8, "big"), text, index.order().tobytes(), *parts])
    return hashlib.blake2b(body, digest_size=32).digest() + body


def _read(results: Path, raw: bytes, shared: dict[str, str]) -> RunIndex:
    """The index in a cache file. Raises `ValueError` if it is damaged."""
    body = memoryview(raw)[32:]
    if hashlib.blake2b(body, digest_size=32).digest() != raw[:32]:
        raise ValueError("damaged")
    take = _taker(body)
    head = json.loads(take(int.from_bytes(take(8), "big")))
    if head["version"] != VERSION:
        raise ValueError("another version")
    order = array("I")
    order.frombytes(take(head["order"] * order.itemsize))
    columns = Columns.from_parts(head["columns"], take, shared)
    if len(order) and max(order) >= len(columns):
        raise ValueError("an order of other lines")
    index = RunIndex(results, shared)
    index.restore(columns, order, Stamp(*head["stamp"]), head["read"], head["lines"], head["digest"])
    index.damaged = [DamagedLine(results, line, why) for line, why in head["damaged"]]
    index.damaged_count = head["damaged_count"]
    return index


def _taker(body: memoryview) -> Callable[[int], bytes]:
    place = 0

    def take(size: int) -> bytes:
        nonlocal place
        if size < 0 or place + size > len(body):
            raise ValueError("cut off")
        place += size
        return bytes(body[place - size : place])

    return take
