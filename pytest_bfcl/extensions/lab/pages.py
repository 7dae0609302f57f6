"""The pages of an audit: a list of findings, and one page for each with request, ground truth and results of runs.

The findings are also stored as lines, which `pytest-bfcl view` reads.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.tables import Cell
from pytest_bfcl.runs.paths import write_here

INDEX = "index.html"
LINES_FILE = "audit.jsonl"
TEMPLATE = "audit.html.jinja"
MOST_READ = 20_000
"""Most findings read back from the lines of one audit."""
SHOWN = 20_000
"""Characters of a ground truth or an attempt on a page."""


@dataclass(frozen=True, slots=True)
class FindingPage:
    """One finding for its page; ``attempts`` are (run, passed, reason, calls)."""

    rule: str
    title: str
    why: str
    advice: str
    level: str
    id: str
    message: str
    place: str = ""
    proof: Sequence[str] = ()
    entries: Sequence[Entry] = ()
    attempts: Sequence[tuple[str, bool, str | None, Any]] = field(default=())

    @property
    def messages(self) -> list[tuple[Entry, list[tuple[int, str, str]]]]:
        """Each entry's messages: turn, role, text."""
        return [
            (entry, [(number, str(message.get("role")), str(message.get("content") or ""))
                     for number, turn in enumerate(entry.question) for message in turn])
            for entry in self.entries
        ]  # fmt: skip


def write_audit_pages(findings: Sequence[FindingPage], folder: Path, data: str) -> Path:
    """Write ``index.html``, a page per finding and ``audit.jsonl``; returns the index's path. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"finding-{number:05}.html" for number in range(1, len(findings) + 1)]
    for found, name in zip(findings, names, strict=True):
        page = rendering.render("finding.html.jinja", found=found, text=json_text)
        rendering.write_page(folder / name, page)
    page = rendering.render(TEMPLATE, **audit_values(list(zip(findings, names, strict=True)), data))
    rendering.write_page(folder / INDEX, page)
    lines = [{"audit": data, "findings": len(findings)}, *map(_line, findings)]
    write_here(folder / LINES_FILE, "".join(json.dumps(line) + "\n" for line in lines).encode())
    return folder / INDEX


def audit_values(
    findings: Sequence[tuple[FindingPage, str]], data: str, *, proofs: bool = False, damaged: int = 0
) -> Fields:
    """The values of the list's `TEMPLATE`; each finding with its link, or empty.

    ``proofs``: show them in the list; ``damaged``: lines that could not be read.
    """
    counted = Counter((found.rule, found.title, found.level) for found, _ in findings)
    rows = [
        (Cell(rule, code=True), title, level, str(count)) for (rule, title, level), count in sorted(counted.items())
    ]
    return {"findings": findings, "counted": rows, "data": data, "proofs": proofs,
            "damaged": damaged}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeptAudit:
    """An audit read back: the data, its findings (without entries and attempts), and the number of damaged lines."""

    data: str
    findings: Sequence[FindingPage]
    damaged: int


def read_audit(path: Path) -> KeptAudit:
    """The lines that `write_audit_pages` stored. Raises `OSError`; invalid lines are counted."""
    data, found, damaged = "", [], 0
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines()[: MOST_READ + 1]:
        try:
            values = json.loads(line)
            if "audit" in values:
                data = str(values["audit"])
            else:
                found.append(_finding(values))
        except (ValueError, KeyError, TypeError, RecursionError):
            damaged += 1
    return KeptAudit(data, found, damaged)


_WORDS = ("rule", "title", "why", "advice", "level", "id", "message", "place")


def _line(found: FindingPage) -> Fields:
    return {**{name: getattr(found, name) for name in _WORDS}, "proof": list(found.proof)}


def _finding(values: Fields) -> FindingPage:
    rule, title, why, advice, level, entry_id, message, place = (str(values[name]) for name in _WORDS)
    proof = [str(line)[:SHOWN] for line in values["proof"]]
    return FindingPage(rule, title, why, advice, level, entry_id, message, place, proof)


def json_text(value: object) -> str:
    """A ground truth or calls as indented JSON, cut if very long."""
    text = json.dumps(value, indent=1, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else text[:SHOWN] + " …"
