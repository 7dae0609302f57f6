"""Zip archives of others: listed and unpacked by a worker process, a piece at a time, nothing written by it.

What is taken is what the caller names by a closed list: regular members of plain relative names, within bounds of count
and size. Encrypted members, links and names that stand twice are refused.
"""

from __future__ import annotations

import base64
import json
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_bfcl.confined.service import Service
from pytest_bfcl.confined.worker import Stopped, Worker
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import clean

MOST_MEMBERS = 20_000
PIECE = 2**20
SERVICE = Service("pytest_bfcl.confined.zips", "reads archives", allowed=("open",), longest=16 * 2**20)
"""It may open files; what the system lets no process of a worker's do is write one."""
_LATE = ("encodings.cp437",)
_PLAIN = re.compile(r"(?!\.)[A-Za-z0-9_.+-]+(/(?!\.)[A-Za-z0-9_.+-]+)*")


class Archive:
    """A zip file, opened by `zip_archive`. ``sizes``: name → bytes of its regular members of plain names."""

    def __init__(self, path: Path, worker: Worker) -> None:
        self._path, self._worker = path, worker
        self.sizes: dict[str, int] = self._answer(path=str(path))["members"]

    def pieces(self, name: str, limit: int) -> Iterator[bytes]:
        """A member's bytes. Raises `UsageError` where there are more than ``limit``, or they cannot be read."""
        if (size := self.sizes[name]) > limit:
            raise UsageError(f"{name} in {self._path} has {size:,} bytes, more than the right file can have")
        begin = {"path": str(self._path), "member": name}
        while piece := base64.b64decode(self._answer(**begin)["piece"]):
            limit -= len(piece)
            if limit < 0:
                raise UsageError(f"{name} in {self._path} has more bytes than the archive says")
            yield piece
            begin = {}

    def _answer(self, **request: str) -> Parsed:
        try:
            answer: Parsed = json.loads(self._worker.ask(json.dumps(request)))
        except Stopped as stopped:
            answer = {"error": str(stopped)}
        if "error" in answer:
            raise UsageError(f"{self._path} is no archive that can be read: {clean(str(answer['error']))}")
        return answer


@contextmanager
def zip_archive(path: Path) -> Iterator[Archive]:
    """An archive, open inside. Raises `UsageError` for one that cannot be listed."""
    if not path.is_file():  # a pipe or a device would be waited for
        raise UsageError(f"{path} is no archive that can be read: there is no such file")
    worker = Worker(SERVICE)
    try:
        yield Archive(path, worker)
    finally:
        worker.close()


def opened() -> Callable[[str], str]:
    """The worker's side: the answers to request lines. ``{}`` asks for the next piece."""
    import bz2  # noqa: F401 - all that zipfile may want later
    import lzma  # noqa: F401
    import zlib  # noqa: F401
    from importlib import import_module

    for name in _LATE:
        import_module(name)
    reading: list[object] = []

    def answer(line: str) -> str:
        try:
            return json.dumps(_answered(json.loads(line), reading))
        except MemoryError:
            return json.dumps({"error": "it needs too much memory"})
        except Exception as error:
            return json.dumps({"error": str(error)[:300] or type(error).__name__})

    return answer


def _answered(request: Parsed, reading: list[object]) -> Parsed:
    if "member" in request:
        archive = zipfile.ZipFile(request["path"])
        reading[:] = [archive.open(request["member"]), archive]
    elif "path" in request:
        with zipfile.ZipFile(request["path"]) as archive:
            return {"members": _listed(archive.infolist())}
    return {"piece": base64.b64encode(reading[0].read(PIECE)).decode()}  # type: ignore[attr-defined]


def _listed(members: list[zipfile.ZipInfo]) -> dict[str, int]:
    """Name → size of the regular members of plain names; raises `ValueError` where one is not what it seems."""
    if len(members) > MOST_MEMBERS:
        raise ValueError(f"it has {len(members):,} members")
    found: dict[str, int] = {}
    for info in members:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or kind not in (0, stat.S_IFREG) or not _PLAIN.fullmatch(info.filename):
            continue
        if info.flag_bits & 1:
            raise ValueError(f"{info.filename} is encrypted")
        if info.filename in found:
            raise ValueError(f"{info.filename} stands in it twice")
        found[info.filename] = info.file_size
    return found
