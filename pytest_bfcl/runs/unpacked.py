"""Official folders in any packing: a folder, an archive, a revision of a git repository.

Packed ones are unpacked to a temporary folder: only result and score files with plain names, within limits. A confined
worker reads archives. Of a repository only objects are read, and nothing in it runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pytest_bfcl.confined.zips import archive, is_archive
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import clean

MOST_FILES = 5_000
MOST_BYTES = 2 * 2**30
GIT_S = 120.0
_WANTED = re.compile(r".*_(?:result|score)\.json", re.DOTALL)
_PLAIN = re.compile(r"(?![. ])[A-Za-z0-9_.+@(),=~ -]+(/(?![. ])[A-Za-z0-9_.+@(),=~ -]+)*")
_PATHS = ("*_result.json", "*_score.json")
LINES = "results.jsonl"
"""Result files of this project itself, which cannot be other files."""
_REVISION = re.compile(r"(?!-)[A-Za-z0-9_./^~{}@-]{1,200}")


def is_packed(path: Path) -> bool:
    """Whether a path must be unpacked first."""
    return (path.is_file() and is_archive(path)) or _revision_of(path) is not None


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The folder of a path: itself, or the unpacked archive or revision, while it is open. ``REPOSITORY@REVISION`` is a
    revision; a repository without such files in its working tree means the newest commit of any branch that has some.
    Raises `UsageError`.
    """
    if not is_packed(path):
        yield path
        return
    name = re.sub(r"[^\w.+-]", "_", path.name.partition("@")[0])[:80] or "folder"
    with tempfile.TemporaryDirectory(prefix="bfcl-unpacked-") as temporary:
        folder = Path(temporary) / name
        found = _revision_of(path)
        written = _of_archive(path, folder) if found is None else _of_revision(*found, folder)
        if not written:
            raise UsageError(f"{path} holds no result or score files of the benchmark (…_result.json, …_score.json)")
        yield folder


def _of_archive(path: Path, folder: Path) -> int:
    left, written = MOST_BYTES, 0
    with archive(path) as packed:
        _refuse_odd(path, packed.odd)
        for member in packed.sizes:
            name = member.removeprefix("./")
            if _WANTED.fullmatch(name) is None:
                continue
            with _opened(path, folder, name, written) as file:
                for piece in packed.pieces(member, left):
                    left -= len(piece)
                    file.write(piece)
            written += 1
    return written


def _refuse_odd(path: Path, names: Iterable[str]) -> None:
    """Raise `UsageError` for a result whose name cannot be written to a disk."""
    if odd := [name for name in names if _WANTED.fullmatch(name)]:
        raise UsageError(f"{path}: {clean(odd[0])!r:.200} has a name that is not taken: unpack and rename it")


# Git.


def _revision_of(path: Path) -> tuple[Path, str] | None:
    """Repository and revision of a path; no revision means the newest commit with results."""
    repository, at, revision = str(path).rpartition("@")
    if at and not path.exists() and _is_repository(Path(repository)):
        if _REVISION.fullmatch(revision) is None:
            raise UsageError(f"{clean(revision)!r:.80} is no revision of {repository}")
        return Path(repository), revision
    if _is_repository(path) and not any(next(path.rglob(name), None) for name in (*_PATHS, LINES)):
        return path, ""
    return None


def _is_repository(path: Path) -> bool:
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


def _of_revision(repository: Path, revision: str, folder: Path) -> int:
    if not revision:
        revision = _git(
            repository, "log", "--all", "-n", "1", "--format=%H", "--diff-filter=AM", "--", *_PATHS
        ).decode()
        if not revision.strip():
            return 0
    commit = _git(repository, "rev-parse", "--verify", "--end-of-options", f"{revision.strip()}^{{commit}}").decode()
    listed = _git(repository, "ls-tree", "-r", "-l", "-z", "--full-tree", commit.strip()).decode("utf-8", "replace")
    left, written = MOST_BYTES, 0
    for line in listed.split("\0"):
        facts, _, name = line.partition("\t")
        mode, _, digest, size = (*facts.split(), "", "", "", "")[:4]
        if not mode.startswith("100") or _WANTED.fullmatch(name) is None:
            continue
        _refuse_odd(repository, [name] if _PLAIN.fullmatch(name) is None else [])
        left -= int(size) if size.isdecimal() else MOST_BYTES
        if left < 0:
            raise UsageError(f"{repository} has more than {MOST_BYTES >> 30} GB of results at {revision}")
        with _opened(repository, folder, name, written) as file:
            _git(repository, "cat-file", "blob", digest, into=file)
        written += 1
    return written


def _git(repository: Path, *arguments: str, into: IO[bytes] | int = subprocess.PIPE) -> bytes:
    """Git's output; settings of the repository cannot run programs here."""
    git = shutil.which("git")
    if git is None:
        raise UsageError(f"{repository} is a git repository, and there is no git here: check it out, or name a folder")
    alone = {
        "PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1",
    }  # fmt: skip
    command = [git, "-c", "core.fsmonitor=false", "-c", "protocol.allow=never", "-c", "log.showSignature=false"]
    try:
        done = subprocess.run(
            [*command, "--no-pager", "-C", str(repository), *arguments],
            stdin=subprocess.DEVNULL, stdout=into, stderr=subprocess.PIPE, env=alone, timeout=GIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git cannot read {repository}: {error}") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise UsageError(f"git cannot read {repository}: {clean(lines[0])[:300]}")
    return done.stdout or b""


def _opened(source: Path, folder: Path, name: str, written: int) -> IO[bytes]:
    if written >= MOST_FILES:
        raise UsageError(f"{source} has more than {MOST_FILES:,} result and score files")
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        return target.open("xb")
    except FileExistsError:
        raise UsageError(f"{source}: it contains {name} twice") from None
