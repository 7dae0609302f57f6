"""Confines reading and writing to the named folder: links that leave it are refused."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from pytest_bfcl.failures import UsageError

HELD = ("journal", "snapshots", "web", "rest", "board")
"""Folders of a run whose files are read back or copied."""


MOST_LOOKED_AT = 50_000
"""Most files and folders that a search reads; a result folder has dozens for each model."""
DEEPEST = 10
"""Deepest folder level that is searched; the reference's layout has six."""


def files_named(root: Path, *patterns: str) -> Iterator[Path]:
    """Files below a folder with a name like one of these; links to folders are not followed.

    Raises `UsageError` for a folder that is too large to be a result folder.
    """
    looked_at = 0
    for folder, folders, files in os.walk(root):
        looked_at += len(folders) + len(files)
        if looked_at > MOST_LOOKED_AT:
            raise UsageError(
                f"{root} holds more than {MOST_LOOKED_AT:,} files: name the folder that the results are in"
            )
        if len(Path(folder).parts) - len(root.parts) >= DEEPEST:
            folders.clear()
        folders.sort()
        yield from (Path(folder, name) for name in sorted(files) if any(fnmatch(name, each) for each in patterns))


def is_below(root: Path, path: Path) -> bool:
    """Whether a path is in a folder after all links are followed."""
    try:
        inside, folder = os.path.realpath(path), os.path.realpath(root)
        if os.path.commonpath((inside, folder)) != folder:
            return False
        os.stat(inside)
    except ValueError:  # on another drive, or no name of a file
        return False
    except OSError as error:  # what is not there yet may be written
        return error.errno != errno.ELOOP
    return True


def below(root: Path, path: Path) -> Path:
    """The path, if it is below ``root`` after all links are followed; else `UsageError`."""
    if not is_below(root, path):
        raise UsageError(f"{path} leads out of {root} (a link, or a name with ..): nothing is read or written there")
    return path


def refuse_links_out(run: Path) -> None:
    """Raise `UsageError` if a run directory contains a link to a place outside."""
    for path in _links(run):
        below(run, path)


def _links(run: Path) -> Iterator[Path]:
    try:
        with os.scandir(run) as found:
            yield from (Path(each.path) for each in found if each.is_symlink())
    except OSError:
        return
    for name in HELD:
        for folder, folders, files in os.walk(run / name):
            yield from (path for child in (*folders, *files) if (path := Path(folder, child)).is_symlink())


def write_below(root: Path, path: Path, content: bytes) -> Path:
    """Write a file below ``root`` and create its folders; a link in its place raises `UsageError`."""
    below(root, path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_here(path, content)
    return path


def write_here(path: Path | str, content: bytes | memoryview) -> None:
    """Write a file in a checked folder; a link in its place raises `UsageError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        file = os.open(path, flags, 0o666)  # half the work of a file object
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(f"{path} is a link: it is not written through; remove it first") from None
        raise
    view = memoryview(content)
    try:
        while view:
            view = view[os.write(file, view) :]
    finally:
        os.close(file)
