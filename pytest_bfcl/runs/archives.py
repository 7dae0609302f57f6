"""Recorded searches and requests as one digest: runs that the outside told the same are on the same test."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pytest_bfcl.runs.lines import read_json_lines
from pytest_bfcl.runs.paths import is_below

WEB, REST = "web", "rest"
NAMES = (WEB, REST)
"""Folders of a run that keep what the outside said."""


def archive_digest(folder: Path) -> str | None:
    """SHA-256 over the recorded calls and their first results, whatever files and order; ``None`` without any."""
    if not folder.is_dir():
        return None
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
    """The digest of what ``replay:PATH`` answers from; ``None`` for every other choice, and for nothing recorded."""
    word, colon, path = choice.partition(":")
    if word != "replay" or not colon:
        return None
    folder = Path(path).expanduser()
    try:
        return archive_digest(folder / name if (folder / name).is_dir() else folder)
    except OSError:
        return None
