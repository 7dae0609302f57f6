"""Untrusted archives (zip, tar): a worker process lists and unpacks them piece by piece and writes nothing.

Only members that the caller lists are read: regular ones with plain relative names, within limits of count and size.
Encrypted members, links and repeated names are refused.
"""

from __future__ import annotations

import base64
import json
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from pytest_bfcl.confined.process import Service
from pytest_bfcl.confined.worker import Stopped, Worker
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import clean

MOST_MEMBERS = 20_000
MOST_ODD = 1_000
PIECE = 2**20
SERVICE = Service("pytest_bfcl.confined.zips", "reads archives", allowed=("open",), longest=16 * 2**20)
"""It may open files; the system lets no worker process write one."""
TARS = replace(SERVICE, cpu_s=30, wall_s=120.0)
"""A packed tar must be unpacked to its end to be listed."""
MOST_UNPACKED = 2**31
"""Bytes of a tar, headers and other members included."""
_TAR = re.compile(r"\.(?:tar(?:\.(?:gz|bz2|xz))?|tgz|tbz2?|txz)$", re.IGNORECASE)
_LATE = ("encodings.cp437",)
_PLAIN = re.compile(r"(?![. ])[A-Za-z0-9_.+@(),=~ -]+(/(?![. ])[A-Za-z0-9_.+@(),=~ -]+)*")


class Archive:
    """A file opened by `zip_archive` or `archive`. ``sizes``: name → bytes of its regular members with plain names."""

    def __init__(self, path: Path, worker: Worker, kind: str = "zip") -> None:
        self._path, self._worker, self._kind = path, worker, kind
        listed = self._answer(path=str(path), kind=kind)
        self.sizes: dict[str, int] = listed["members"]
        self.odd: list[str] = listed["odd"]
        """Names of regular members that are not read, the first ones."""

    def pieces(self, name: str, limit: int) -> Iterator[bytes]:
        """A member's bytes. Raises `UsageError` if there are more than ``limit``, or if they cannot be read."""
        if (size := self.sizes[name]) > limit:
            raise UsageError(f"{name} in {self._path} has {size:,} bytes, more than the right file can have")
        begin = {"path": str(self._path), "member": name, "kind": self._kind}
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
    """An archive, opened by the worker. Raises `UsageError` for one that cannot be listed."""
    if not path.is_file():  # a pipe or a device would be waited for
        raise UsageError(f"{path} is no archive that can be read: there is no such file")
    worker = Worker(SERVICE)
    try:
        yield Archive(path, worker)
    finally:
        worker.close()


def is_archive(path: Path) -> bool:
    """Whether a file's name has an ending of archives that `archive` opens."""
    return path.suffix.lower() == ".zip" or _TAR.search(path.name) is not None


@contextmanager
def archive(path: Path) -> Iterator[Archive]:
    """A zip or a tar, packed or not, by its name. Raises `UsageError` for one that cannot be listed."""
    if path.suffix.lower() == ".zip":
        with zip_archive(path) as found:
            yield found
        return
    worker = Worker(TARS)
    try:
        yield Archive(path, worker, "tar")
    finally:
        worker.close()


def opened() -> Callable[[str], str]:
    """The worker's side: the answers to request lines. ``{}`` requests the next piece."""
    import bz2  # noqa: F401 - all that zipfile may want later
    import gzip  # noqa: F401
    import lzma  # noqa: F401
    import zlib  # noqa: F401

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
    tar = request.get("kind") == "tar"
    if "member" in request:
        if tar:  # listed before in this process; going on from there spares unpacking it from its beginning
            reading[:] = [reading[1].extractfile(request["member"]), reading[1]]  # type: ignore[attr-defined]
        else:
            archive = zipfile.ZipFile(request["path"])
            reading[:] = [archive.open(request["member"]), archive]
    elif "path" in request and tar:
        stream = tarfile.open(request["path"])  # noqa: SIM115 - read from later
        reading[:] = [None, stream]
        return _listed_tar(stream)
    elif "path" in request:
        with zipfile.ZipFile(request["path"]) as archive:
            return _listed(archive.infolist())
    return {"piece": base64.b64encode(reading[0].read(PIECE)).decode()}  # type: ignore[attr-defined]


def _listed_tar(stream: tarfile.TarFile) -> Parsed:
    """The same for a tar, in its order; a leading ``./`` does not belong to a name."""
    members: list[tuple[str, int]] = []
    for number, info in enumerate(stream):
        if number >= MOST_MEMBERS:
            raise ValueError(f"it has more than {MOST_MEMBERS:,} members")
        if info.offset_data + info.size > MOST_UNPACKED:  # before it is passed over, which unpacks it
            raise ValueError(f"it has more than {MOST_UNPACKED >> 30} GB unpacked")
        if info.isreg() and not info.issparse():
            members.append((info.name, info.size))
    return _of_plain_names(members)


def _listed(infos: list[zipfile.ZipInfo]) -> Parsed:
    """``members``: name → size of the regular ones with plain names; ``odd``: other names. Raises `ValueError`."""
    if len(infos) > MOST_MEMBERS:
        raise ValueError(f"it has {len(infos):,} members")
    members: list[tuple[str, int]] = []
    for info in infos:
        if info.is_dir() or stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            continue
        if info.flag_bits & 1 and _PLAIN.fullmatch(info.filename):
            raise ValueError(f"{info.filename} is encrypted")
        members.append((info.filename, info.file_size))
    return _of_plain_names(members)


def _of_plain_names(members: list[tuple[str, int]]) -> Parsed:
    found: dict[str, int] = {}
    odd = []
    for name, size in members:
        if _PLAIN.fullmatch(name.removeprefix("./")) is None:
            odd.append(name[-200:])
        elif name in found:
            raise ValueError(f"it contains {name} twice")
        else:
            found[name] = size
    return {"members": found, "odd": odd[:MOST_ODD]}
