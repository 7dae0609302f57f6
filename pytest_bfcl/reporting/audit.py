"""The pages of an audit: a list of findings, and one page for each with request, ground truth and what runs did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset import Entry
from pytest_bfcl.reporting import rendering

INDEX = "index.html"
SHOWN = 20_000
"""Characters of a ground truth or an attempt on a page."""


@dataclass(frozen=True, slots=True)
class FindingPage:
    """One finding as its page shows it; ``attempts`` are (run, passed, reason, what was called)."""

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
    """Write ``index.html`` and a page per finding; the index's path. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"finding-{number:05}.html" for number in range(1, len(findings) + 1)]
    for found, name in zip(findings, names, strict=True):
        page = rendering.render("finding.html.jinja", found=found, text=shown)
        rendering.write_page(folder / name, page)
    counted = Counter((found.rule, found.title, found.level) for found in findings)
    page = rendering.render(
        "audit.html.jinja", findings=list(zip(findings, names, strict=True)), counted=sorted(counted.items()), data=data
    )
    rendering.write_page(folder / INDEX, page)
    return folder / INDEX


def shown(value: object) -> str:
    """A ground truth or calls as indented JSON, cut where it is very long."""
    text = json.dumps(value, indent=1, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else text[:SHOWN] + " …"
