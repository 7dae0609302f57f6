"""Snapshots of a run: memories per model, backend and scenario; recorded searches and requests.

File names are those of the official result folder (scoring spec §1), so that the export only copies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs.lines import (
    LONGEST_LINE,
    DamagedLine,
    open_regular,
    read_json_lines,
    storage_error,
    write_atomically,
)
from pytest_bfcl.runs.paths import is_below
from pytest_bfcl.spread_json import read_json
from pytest_bfcl.troubles import HarnessTrouble

_NAME_LIMIT = 100


def folder_name(model: str) -> str:
    """A model spec as one folder name: everything but letters, digits, ``._@=+-`` becomes ``_``."""
    name = "".join(c if c.isalnum() or c in "._@=+-" else "_" for c in model)
    return name.strip(".") or "model"


def _file_name(text: str) -> str:
    """An id or scenario as a file name: unchanged if possible, else shortened with a digest."""
    name = folder_name(text)
    if name == text and len(name) <= _NAME_LIMIT:
        return name
    return f"{name[:_NAME_LIMIT]}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


class Snapshots:
    """The snapshots of one model (and repeat): ``<root>/<backend>/<scenario>_final.json`` and checkpoints.

    Files are replaced atomically: a reader sees the memory before or after a conversation.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def save(self, backend: str, scenario: str, entry_id: str, content: object) -> None:
        """Store the memory after one write-stage conversation: its checkpoint and the scenario's latest state."""
        text = json.dumps(content, indent=4)
        write_atomically(self.checkpoint_path(backend, entry_id), text)
        write_atomically(self.final_path(backend, scenario), text)

    def load(self, backend: str, scenario: str, after: str | None = None) -> Any | None:
        """The memory directly after the write stage ``after``, else the scenario's latest; ``None`` without either."""
        found = self.checkpoint(backend, after) if after else None
        return found if found is not None else _read(self.final_path(backend, scenario))

    def checkpoint(self, backend: str, entry_id: str) -> Any | None:
        """The memory directly after one write-stage conversation; ``None`` if that did not finish."""
        return _read(self.checkpoint_path(backend, entry_id))

    def final_path(self, backend: str, scenario: str) -> Path:
        """The file of a scenario's latest memory."""
        return self.root / folder_name(backend) / f"{_file_name(scenario)}_final.json"

    def checkpoint_path(self, backend: str, entry_id: str) -> Path:
        """The file of the memory after one conversation."""
        return self.root / folder_name(backend) / "prereq_checkpoints" / f"{_file_name(entry_id)}.json"


def snapshots_of(run: Path, model: str, repeat: int = 1) -> Snapshots:
    """The snapshots of one model in a run directory; further repeats have their own folder."""
    name = folder_name(model) + (f"-r{repeat}" if repeat > 1 else "")
    return Snapshots(run / "snapshots" / name)


def damaged_snapshots(folder: Path) -> Iterator[DamagedLine]:
    """Unreadable memory files below a folder; ``line`` is 0, as each is one value."""
    for path in sorted(folder.rglob("*.json")):
        try:
            _content(path)
        except (OSError, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            yield DamagedLine(path, 0, f"damaged memory snapshot left out: {why}")


def _read(path: Path) -> Any | None:
    try:
        return _content(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(path, error) from error
    except ValueError as error:
        raise HarnessError(
            HarnessTrouble.STORAGE, f"damaged memory snapshot {path}: {error}; delete it and continue the run"
        ) from error


def _content(path: Path) -> Any:
    with open_regular(path) as file:
        raw = file.read(LONGEST_LINE + 1)
    if len(raw) > LONGEST_LINE:
        raise ValueError(f"longer than {LONGEST_LINE:,} bytes")
    content = read_json(raw)
    if content is None:
        raise ValueError("holds null")
    return content


WEB, REST = "web", "rest"
NAMES = (WEB, REST)
"""Folders of a run with recorded answers of services."""


def archive_digest(folder: Path) -> str | None:
    """SHA-256 over the recorded calls and their first results, for any files in any order; ``None`` without any."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl")):
        if not path.is_file() or not is_below(folder, path):
            continue
        for line in read_json_lines(path):
            if "call" in line.value and "result" in line.value:
                call = json.dumps(line.value["call"], sort_keys=True)
                found.setdefault(call, json.dumps(line.value["result"], sort_keys=True))
    if not found:
        return None
    whole = hashlib.sha256()
    for call in sorted(found):
        whole.update(f"{call}\n{found[call]}\n".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


def replayed_digest(choice: str, name: str) -> str | None:
    """The digest of the recording that ``replay:PATH`` names; ``None`` for other choices and for empty recordings."""
    word, colon, path = choice.partition(":")
    if word != "replay" or not colon:
        return None
    folder = Path(path).expanduser()
    try:
        return archive_digest(folder / name if (folder / name).is_dir() else folder)
    except OSError:
        return None
