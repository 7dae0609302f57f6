"""The inputs of an entry besides its line: templates, files of commands, the server and its tools.

Their digest shows whether something has changed, for the proof of an entry, a run's fingerprint and a resumed run. Each
part has a readable name for messages.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from glob import iglob
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.settings import Settings

Parts = dict[str, str]
"""Readable name of a part → digest."""
MOST_READ = 64 * 2**20
"""Bytes of a command's file that are hashed."""
MOST_FOUND = 1_000
"""Most files that one word of a command may name."""
_BREAKS = re.compile(r"[\s;|&<>()'\"=]+")


def inputs_of(entry: Entry, settings: Settings) -> Parts:
    """The parts that are known before a server starts."""
    parts = {"the entry": short_digest(entry.model_dump_json(exclude={"source"}))}
    for content in entry.files.values():
        if not isinstance(content, str) and entry.folder is not None:
            parts[f"the template {content.copy_of}"] = template_digest(entry.folder / content.copy_of)
    if entry.mcp is not None:
        parts |= server_inputs(entry.mcp, settings)
    return parts


def server_inputs(name: str, settings: Settings) -> Parts:
    """A server's command, the commands around its trials, and the files in them."""
    parts: Parts = {}
    around = {"server": settings.mcp, "setup": settings.mcp_setup, "teardown": settings.mcp_teardown}
    for kind, commands in around.items():
        if (command := commands.get(name)) is not None:
            parts[f"the {kind} command"] = short_digest(command)
            for path in command_files(command, written=kind == "server"):
                part = f"the {kind} command's file {path.name}"
                parts[part] = short_digest(parts.get(part, "") + template_digest(path))
    return parts


def changed_parts(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of new, missing and changed parts."""
    return [name for name in {**before, **now} if before.get(name) != now.get(name)]


def command_files(command: str, *, written: bool = False) -> Iterator[Path]:
    """The files that a command names, also inside a word (``sh -c 'sqlite3 x < fill.sql'``); an address has none.
    Patterns mean the matching files, ``-m`` a module of the working directory, and folders count if something is
    copied. The program itself counts if it is a script. ``written``: the command may write its files (logs, databases),
    so only code and options named like configuration count.
    """
    if command.startswith(("http://", "https://")):
        return
    try:
        words = shlex.split(command)
    except ValueError:
        return
    pieces = [piece for word in words for piece in dict.fromkeys((word, *_BREAKS.split(word))) if piece]
    copies = not written and not _COPYING.isdisjoint(pieces)
    seen: set[Path] = set()
    for option, text in pairwise(("", *pieces)):
        for path in _named(text, is_module=option == "-m"):
            with contextlib.suppress(OSError, ValueError):
                if path in seen or not (path.is_file() or (copies and _is_below(path))):
                    continue
                counts = not written or _CONFIGURATION.search(option) or path.suffix in _CODE or _is_script(path)
                if counts and (text != words[0] or _is_script(path)):
                    seen.add(path)
                    yield path


def _named(text: str, *, is_module: bool) -> Iterator[Path]:
    """The possible file names in a word."""
    if "{" in text:
        return
    with contextlib.suppress(OSError, ValueError, NotImplementedError):
        if "*" in text:
            yield from map(Path, sorted(islice(iglob(text), MOST_FOUND)))
        elif is_module:
            place = Path(*text.split("."))
            yield place.with_suffix(".py")
            yield from islice(sorted(place.rglob("*.py")), MOST_FOUND)
    yield Path(text)


def _is_below(path: Path) -> bool:
    """Whether it is a folder other than one with the working directory, to which runs write."""
    return path.is_dir() and not Path.cwd().is_relative_to(path.resolve())


_COPYING = frozenset(("cp", "rsync", "copy", "xcopy"))
_CONFIGURATION = re.compile("^-+(c|config|configuration|settings|env-file|spec|schema|policy)$")
_CODE = frozenset((".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".php", ".pl", ".lua", ".jar", ".wasm"))


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
    """The copied parts of a template: relative path and place of its files, its folders, and links that stay inside.

    A single file has one part with an empty path.
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
    """The relative target of a link for a copy; ``None`` if it is no link."""
    if not path.is_symlink():
        return None
    return os.path.relpath(path.resolve(), path.parent.resolve())


def template_digest(place: Path) -> str:
    """Digest of a template's names, contents and links; ``missing`` if it does not exist."""
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
