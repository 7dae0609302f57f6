"""What an entry depends on beside its line: templates, the files of commands, the server and its tools.

One digest for everybody who asks whether something is still the same: the proof of an entry, a run's fingerprint, a
run that is continued. A part has a name that people understand, so that what changed can be told.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.settings import Settings

Parts = dict[str, str]
"""Name of a part, for people → digest."""
MOST_READ = 64 * 2**20
"""Bytes of a command's file that are looked at."""
_BREAKS = re.compile(r"[\s;|&<>()'\"=]+")


def inputs_of(entry: Entry, settings: Settings) -> Parts:
    """The parts that can be told without starting a server."""
    parts = {"the entry": short_digest(entry.model_dump_json(exclude={"source"}))}
    for content in entry.files.values():
        if not isinstance(content, str) and entry.folder is not None:
            parts[f"the template {content.copy_of}"] = template_digest(entry.folder / content.copy_of)
    if entry.mcp is not None:
        parts |= server_inputs(entry.mcp, settings)
    return parts


def server_inputs(name: str, settings: Settings) -> Parts:
    """A server's command, the commands around its trials, and the files these name."""
    parts: Parts = {}
    around = {"server": settings.mcp, "setup": settings.mcp_setup, "teardown": settings.mcp_teardown}
    for kind, commands in around.items():
        if (command := commands.get(name)) is not None:
            parts[f"the {kind} command"] = short_digest(command)
            files = command_files(command, written=kind == "server")
            parts |= {f"the {kind} command's file {path.name}": _file_digest(path) for path in files}
    return parts


def changed_parts(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of parts that are new, gone, or other than before."""
    return [name for name in {**before, **now} if before.get(name) != now.get(name)]


def command_files(command: str, *, written: bool = False) -> Iterator[Path]:
    """The files that a command names, also inside a word (``sh -c 'sqlite3 x < fill.sql'``); no address has any.

    The program itself counts where it is a script: interpreters are not the user's. ``written``: the command may write
    files that it names (logs, databases), so that only code and what an option calls configuration counts.
    """
    if command.startswith(("http://", "https://")):
        return
    try:
        words = shlex.split(command)
    except ValueError:
        return
    option, seen = "", set()
    for text in (piece for word in words for piece in dict.fromkeys((word, *_BREAKS.split(word))) if piece):
        path = Path(text)
        try:
            named = "{" not in text and text not in seen and path.is_file() and (text != words[0] or _is_script(path))
            if named and (not written or _CONFIGURATION.search(option) or _is_code(path)):
                yield path
        except (OSError, ValueError):
            continue
        option = text
        seen.add(text)


_CONFIGURATION = re.compile("^-+(c|config|configuration|settings|env-file|spec|schema|policy)$")
_CODE = frozenset((".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".php", ".pl", ".lua", ".jar", ".wasm"))


def _is_code(path: Path) -> bool:
    return path.suffix in _CODE or _is_script(path)


def _is_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _file_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return short_digest(file.read(MOST_READ))
    except OSError:
        return "unreadable"


def template_parts(place: Path) -> Iterator[tuple[str, Path]]:
    """What of a template is copied: relative path and place of its files, its folders, and links that stay inside it.

    A template that is a file has one part with an empty path.
    """
    if not place.is_dir():
        yield "", place
        return
    whole = place.resolve()
    for folder, folders, files in os.walk(place):
        for name in sorted([*folders, *files]):
            path = Path(folder, name)
            if not path.is_symlink() or path.resolve().is_relative_to(whole):
                yield path.relative_to(place).as_posix(), path


def link_target(path: Path) -> str | None:
    """Where a link leads, as it is to be written into a copy: relative; ``None`` for what is no link."""
    if not path.is_symlink():
        return None
    return os.path.relpath(path.resolve(), path.parent.resolve())


def template_digest(place: Path) -> str:
    """Of names, contents and links of a template; ``missing`` where there is none."""
    digest = hashlib.sha256()
    if not place.exists():
        return "missing"
    for name, path in template_parts(place):
        content = link_target(path) or ("/" if path.is_dir() else _file_digest(path))
        digest.update(f"{name}\0{content}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def short_digest(content: str | bytes) -> str:
    """Sixteen hex digits."""
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:16]
