"""The directory of one trial on a user's MCP server: created and filled before it, removed after it. A command has
``{workdir}`` for its path. Model, entry and record use ``/workdir``, in every trial and on every machine. Texts for the
server get the real path, texts from it the short one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.expectation import ABSENT, State
from pytest_bfcl.dataset.inputs import link_target, short_digest, template_parts
from pytest_bfcl.dataset.served_entry import SHOWN_WORKDIR, TemplateCopy
from pytest_bfcl.extensions.agents.pool import kill_group
from pytest_bfcl.extensions.sql import all_tables, query_file
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.plain_text import clean
from pytest_bfcl.spread_json import json_or
from pytest_bfcl.troubles import HarnessTrouble

MOST_COPIED = 256 * 2**20
"""Largest size of the templates copied for one trial, in bytes."""
MOST_READ = 1_000_000
MOST_FILES = 5_000
"""Largest file, and most paths, that an expectation reads."""


class Workdir:
    """One directory; messages name ``subject`` (an entry's id)."""

    def __init__(self, subject: str, path: Path) -> None:
        self._subject = subject
        self.path = path

    def command(self, text: str) -> tuple[list[str], dict[str, str]]:
        """Words of a command with the real path, and the variables before it (``NAME=VALUE cmd``)."""
        from pytest_bfcl.extensions.agents.mcp_tools import WORKDIR, command_words

        return command_words(text, {WORKDIR: str(self.path)})

    def real(self, value: Any) -> Any:
        """JSON with the short path replaced by the real one in every text."""
        return _replaced(value, {SHOWN_WORKDIR: str(self.path)})

    def with_short_paths(self, value: Any) -> Any:
        """JSON with the real path replaced by the short one in every text."""
        return _replaced(value, dict.fromkeys((str(self.path), self.path.as_posix()), SHOWN_WORKDIR))

    def fill(self, files: Mapping[str, str | TemplateCopy], folder: Path | None) -> None:
        """Write an entry's files; templates are copied from ``folder``, which has the entry's file. Raises
        `HarnessError` (kind ``data``) for a template that is missing, outside the folder, or too large.
        """
        left = MOST_COPIED
        for name, content in files.items():
            target = self.path / name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                if isinstance(content, str):
                    target.write_text(content, encoding="utf-8", newline="")
                    continue
                left -= _copy(self._template(content.copy_of, folder), target, left)
            except OSError as error:
                raise self._trouble(f"files: {name} cannot be written: {error.strerror}") from None
            if left < 0:
                raise self._trouble(f"files: the templates have more than {MOST_COPIED:,} bytes")

    def _template(self, name: str, folder: Path | None) -> Path:
        if folder is None:
            raise self._trouble(f"files: the template {name!r} has no folder: the entry comes from no file")
        found = (folder / name).resolve()
        if not found.is_relative_to(folder.resolve()) or not found.exists():
            raise self._trouble(f"files: there is no template {name!r} beside the entry's file, in {folder}")
        return found

    def _trouble(self, what: str) -> HarnessError:
        return HarnessError(HarnessTrouble.DATA, f"{self._subject}: {what}")

    def read(self, state: State) -> Any:
        """The content of a file, of the files of a pattern, or of a database; a missing one is ``{ABSENT: True}``.
        Links out of the directory are not followed.
        """
        if state.files is not None:
            found = (each for each in sorted(self.path.glob(state.files)) if each.is_file() and self._is_inside(each))
            return [each.relative_to(self.path).as_posix() for each in islice(found, MOST_FILES)]
        path = self.path / str(state.file)
        if not path.is_file() or not self._is_inside(path):
            return {ABSENT: True}
        if state.sql is not None:
            outcome = query_file(path, state.sql)
            return outcome.value["rows"] if outcome.value is not None else {"error": outcome.error}
        with path.open("rb") as file:
            text = file.read(MOST_READ).decode("utf-8", "replace")
        return json_or(text, text)

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.path.resolve())

    def snapshot(self, looks: Sequence[State]) -> dict[str, str]:
        """Digest of every file, of links by target, and of the tables in ``looks``. Folders whose names begin with a
        dot are the server's own data and left out.
        """
        found: dict[str, str] = {}
        for folder, folders, files in os.walk(self.path):
            folders[:] = sorted(each for each in folders if not each.startswith("."))
            for name in sorted(files):
                path = Path(folder, name)
                place = path.relative_to(self.path).as_posix()
                with contextlib.suppress(OSError):
                    found[place] = link_target(path) or short_digest(path.read_bytes()[:MOST_COPIED])
            if len(found) > MOST_FILES:
                break
        for base in {str(look.file) for look in looks if look.sql is not None}:
            found |= {f"{base}#{table}": digest for table, digest in self._tables(base).items()}
        return found

    def _tables(self, base: str) -> dict[str, str]:
        path = self.path / base
        if not path.is_file() or not self._is_inside(path):
            return {}
        return {name: short_digest(repr(rows)) for name, rows in all_tables(path).items()}

    async def run(self, command: str, what: str, timeout_s: float) -> None:
        """Run a user's command here. Raises `HarnessError` (kind ``mcp``) if it fails or takes too long."""
        words, variables = self.command(command)
        try:
            process = await asyncio.create_subprocess_exec(
                *words, cwd=self.path, env={**os.environ, **variables}, start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise self._failed(what, f"cannot be started: {error.strerror}") from None
        try:
            _, said = await asyncio.wait_for(process.communicate(), timeout_s)
        except TimeoutError:
            raise self._failed(what, f"did not end within {timeout_s:g} s") from None
        finally:
            if process.returncode is None:
                kill_group(process)
                await process.wait()
        if process.returncode:
            last = next((line for line in reversed(said.decode(errors="replace").splitlines()) if line.strip()), "")
            told = f"\nit last said: {clean(last.strip())[:300]}" if last else ""
            raise self._failed(what, f"ended with status {process.returncode}{told}")

    def _failed(self, what: str, how: str) -> HarnessError:
        return HarnessError(HarnessTrouble.MCP, f"{self._subject}: the {what} command {how}")


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    """JSON with parts of its texts replaced, but not of its keys."""
    if isinstance(value, str):
        for name, other in names.items():
            value = value.replace(name, other)
        return value
    if isinstance(value, list):
        return [_replaced(each, names) for each in value]
    return {key: _replaced(each, names) for key, each in value.items()} if isinstance(value, dict) else value


@asynccontextmanager
async def opened_workdir(subject: str) -> AsyncIterator[Workdir]:
    """A fresh, empty directory, removed at the end."""
    path = Path(tempfile.mkdtemp(prefix="bfcl-")).resolve()
    try:
        yield Workdir(subject, path)
    finally:
        with contextlib.suppress(OSError):  # a server's last file, still held open
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)


def _copy(source: Path, target: Path, limit: int) -> int:
    """Copy a template; returns its bytes, or more than ``limit`` if it stops early."""
    total = 0
    for name, path in template_parts(source):
        place = target / name if name else target
        if (leads := link_target(path)) is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(leads)
        elif path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            total += path.stat().st_size
            if total > limit:
                break
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    if source.is_dir():
        target.mkdir(exist_ok=True)
    return total
