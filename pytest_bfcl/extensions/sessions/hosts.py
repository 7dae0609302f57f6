"""Workers on other hosts: their files come back, and earlier facts are sent to them.

Such a worker writes its journal, snapshots and recorded pages to its own folder and sends every change over a channel
besides xdist's. The controller repeats the change in the run directory. So a run on many hosts has one complete run
directory; if the controller is killed, at most the last fraction of a second is missing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.json_types import Parsed

if TYPE_CHECKING:
    from pytest_bfcl.session.run import Run

GROWING = ("journal", "web")
"""Folders with append-only files; other files are replaced completely."""
FOLDERS = (*GROWING, "snapshots")
EVERY_S = 0.2
CHUNK = 4 * 1024 * 1024


class FileSender:
    """The worker's side: a folder in place of the run directory, watched by a thread."""

    def __init__(self, channel: Any, files: dict[str, bytes]) -> None:
        self.channel = channel
        self.path = Path(tempfile.mkdtemp(prefix="pytest-bfcl-"))
        self._known: dict[str, tuple[int, int]] = {}
        for name, content in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(zlib.decompress(content))
            self._known[name] = _state(target)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="bfcl files", daemon=True)
        self._thread.start()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Send the rest after the fixtures are closed, and remove the folder. Then xdist reports that the worker has
        finished.
        """
        self._stop.set()
        self._thread.join()
        with contextlib.suppress(OSError, EOFError):  # the controller is gone
            self._send_changes()
            self.channel.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            try:
                self._send_changes()
            except (OSError, EOFError):
                return

    def _send_changes(self) -> None:
        for path in _files(self.path):
            name = path.relative_to(self.path).as_posix()
            old, new = self._known.get(name, (0, 0)), _state(path)
            if old == new or (old[0] == new[0] and name.partition("/")[0] in GROWING):
                continue
            growing = name.partition("/")[0] in GROWING
            start = min(old[0], new[0]) if growing else 0
            sent = start
            with path.open("rb") as file:
                file.seek(start)
                while True:
                    data = file.read(CHUNK)
                    if data or sent == start:
                        self.channel.send((name, sent, data))
                    sent += len(data)
                    if len(data) < CHUNK:
                        break
            self._known[name] = (sent, new[1])


class FileReceiver:
    """The controller's side: repeats changes in the run directory; ``trouble`` receives errors."""

    def __init__(self, path: Path, trouble: Callable[[str], None]) -> None:
        self.path = path
        self._trouble = trouble

    def __call__(self, change: tuple[str, int, bytes]) -> None:
        """One change: file name, offset, bytes; the file ends after them. Runs in the gateway's thread."""
        name, offset, data = change
        parts = PurePosixPath(name).parts
        if len(parts) < 2 or parts[0] not in FOLDERS or ".." in parts:
            self._trouble(f"a worker sent a file of an unexpected name: {name!r}")
            return
        target = self.path.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(target, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
                file.seek(offset)
                file.write(data)
                file.truncate()
        except OSError as error:
            self._trouble(f"cannot write to {target}: {error.strerror or error}")


def sender(worker: Parsed) -> FileSender:
    """On a worker of another host: its folder, and the plugin that sends its files."""
    return FileSender(worker["channel"], worker["files"])


def receive(gateway: Any, run: Run, trouble: Callable[[str], None]) -> Parsed:
    """On the controller: the channel for a worker's files, and the facts of earlier parts."""
    channel = gateway.newchannel()
    channel.setcallback(FileReceiver(run.folder, trouble))
    return {
        "channel": channel,
        "files": known_files(run.folder, run.earlier.is_settled_line),
        "process": unused_name(run.folder, gateway.id),
    }


def known_files(path: Path, is_finished: Callable[[Parsed], bool]) -> dict[str, bytes]:
    """The parts of a resumed run that a remote worker needs: compressed contents by name.

    Replies of finished entries (``is_finished`` of a journal line) stay here: they are not needed.
    """
    from pytest_bfcl.runs.lines import json_line, read_json_lines

    replies = [
        json_line(line.value)
        for file in sorted((path / "journal").glob("*.jsonl"))
        for line in read_json_lines(file)
        if not is_finished(line.value)
    ]
    files = {"journal/earlier.jsonl": b"".join(replies)} if replies else {}
    for file in _files(path):
        if file.relative_to(path).parts[0] in ("snapshots", "web"):
            files[file.relative_to(path).as_posix()] = file.read_bytes()
    return {name: zlib.compress(content, 1) for name, content in files.items()}


def unused_name(path: Path, worker: str) -> str:
    """A name for a worker's files that no earlier part of the run has used, because its files start empty."""
    number, name = 1, worker
    while any((path / folder / f"{name}.jsonl").exists() for folder in GROWING):
        number += 1
        name = f"{worker}-{number}"
    return name


def _files(path: Path) -> Iterator[Path]:
    """Files of the folders that travel; names with a leading dot are unfinished."""
    for folder in FOLDERS:
        for file in sorted((path / folder).rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                yield file


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_size, found.st_mtime_ns
