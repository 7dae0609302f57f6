"""What functions gave once, kept beside the tests: a change of behaviour shows as a change of a file.

``RECORD=1 pytest …`` writes the files anew; their difference is then read line by line before it is committed.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.failures import BenchmarkError, UsageError

RECORD = "RECORD"


def same_as_recorded(file: Path, rows: Iterable[Any]) -> None:
    """Assert that rows (anything JSON can hold, or has a text) are those of a ``.jsonl`` file, one a line."""
    found = [json.dumps(plain(row), default=str, ensure_ascii=False) for row in rows]
    if os.environ.get(RECORD):
        file.write_text("".join(f"{row}\n" for row in found), encoding="utf-8", newline="\n")
    recorded = file.read_text(encoding="utf-8").splitlines()
    changed = [(old, new) for old, new in zip(recorded, found, strict=False) if old != new]
    assert changed[:3] == [], f"{file.name} says otherwise; if this is meant, {RECORD}=1 pytest … writes it anew"
    assert len(found) == len(recorded), f"{file.name} has another number of rows; {RECORD}=1 pytest … writes it anew"


def counted(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Every different row once, with how often it came."""
    found = Counter(json.dumps(plain(row), default=str) for row in rows)
    yield from ([count, json.loads(row)] for row, count in found.items())


def tried(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a function gives, or the user's mistake or refusal that it raises, in words."""
    try:
        found = function(*arguments, **named)
        return list(found) if isinstance(found, Iterator) else found
    except (BenchmarkError, UsageError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def plain(value: Any) -> Any:
    """A value as JSON holds it: records by their fields, sets in order, floats without their last digits."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def markup(page: str) -> Iterator[str]:
    """The lines of a page's body without scripts."""
    body = page.partition("<body>")[2].replace("<wbr>", "")
    bare = re.sub(r"<script\b.*?</script>", "", body, flags=re.DOTALL)
    yield from (line for each in bare.splitlines() if (line := " ".join(each.split())))


def of_command(words: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[list[Any]]:
    """What a verb says, and the lines of the files that it makes in a folder, the working directory: [where, line]."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    capsys.readouterr()
    yield ["$", f"{' '.join(words)} → {main(words)}"]
    said = capsys.readouterr()
    yield from (["out", line] for line in said.out.splitlines())
    yield from (["err", line] for line in said.err.splitlines())
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or before.get(path) == path.stat().st_mtime_ns:
            continue
        text, name = path.read_text(encoding="utf-8"), path.relative_to(folder).as_posix()
        lines: Iterable[Any] = markup(text) if path.suffix == ".html" else text.splitlines()
        if path.suffix == ".json" and text[:2] in ("[\n", "{\n"):
            found = json.loads(text)
            lines = found.items() if isinstance(found, dict) else found
        yield from ([name, line] for line in lines)
