"""A comparison as one self-contained page: groups, reasons that moved, and every changed entry opened side by side.

Everything can be read without a script; the script filters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.extensions.boards.changed import Changed, Opened, Source
from pytest_bfcl.extensions.boards.comparison_text import (
    HEAD,
    counts,
    direction,
    kind,
    row_cells,
    table_rows,
    tag_lines,
    title,
    verdict,
)
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.reporting.rendering import render, seconds, thousands, usd
from pytest_bfcl.reporting.report import summary_of
from pytest_bfcl.runs.directory import RunDirectory

TEMPLATE = "comparison.html.jinja"
USAGE = ("cost", "latency mean", "95th percentile", "tokens in", "tokens out")
MOST_OPENED = 400
"""Changes of one comparison that a page shows side by side; the rest are listed with their links."""


@dataclass(frozen=True, slots=True)
class Section:
    """One comparison as the template wants it; ``pairs``: reasons before and after, and how many entries moved so."""

    title: str
    verdict: str
    lost: bool
    counts: str
    notes: Sequence[str]
    rows: Sequence[tuple[str, tuple[str, ...], str]]
    regressed: Sequence[Opened]
    improved: Sequence[Opened]
    unchanged: int
    tags: Sequence[tuple[str, str, int]]
    pairs: Sequence[tuple[str, str, int]]
    left_out: int
    causes: Sequence[tuple[str, int, int]] = ()
    """Cause, entries that fail for it now and passed before, entries that failed for it before and pass now."""
    usage: Sequence[tuple[str, tuple[str, ...]]] = ()
    """``before`` and ``after`` with texts in the order of `USAGE`, where the runs tell."""

    @property
    def categories(self) -> list[tuple[str, int]]:
        """Categories with changes, and how many."""
        return Counter(found.change.category for found in (*self.regressed, *self.improved)).most_common()


def comparison_html(found: Sequence[Changed], entry: Source, margin: float = 0.0, *, page: Path | None = None) -> str:
    """All comparisons as one page; links to entries' pages are relative to ``page``, without it there are none."""
    return render(TEMPLATE, TEMPLATES, **comparison_values(found, entry, margin, page=page))


def comparison_values(
    found: Sequence[Changed], entry: Source, margin: float = 0.0, *, page: Path | None = None, most: int = MOST_OPENED
) -> Parsed:
    """What `TEMPLATE` makes the page of; of each comparison ``most`` changes are shown side by side."""
    sections = [_section(each, entry, margin, page, most) for each in found]
    return {"sections": sections, "head": HEAD, "usage_head": USAGE}


def _section(changed: Changed, entry: Source, margin: float, page: Path | None, most: int) -> Section:
    found = changed.comparison
    worst = found.regressed_worst_first
    rest = max(most - len(worst), 0)
    regressed = list(changed.opened(worst, entry, page=page, most=most))
    improved = list(changed.opened(found.improved, entry, page=page, most=rest))
    pairs = Counter(each.reasons for each in (*regressed, *improved))
    return Section(
        title(found),
        verdict(found, margin),
        bool(found.losses(margin)),
        counts(found),
        found.notes,
        [(kind(row), row_cells(row), direction(row)) for row in table_rows(found)],
        regressed,
        improved,
        found.unchanged,
        tag_lines(found),
        [(before, after, count) for (before, after), count in pairs.most_common()],
        sum(each.pair is None and not each.beside for each in (*regressed, *improved)),
        changed.causes(),
        list(_usage(changed)),
    )


def _usage(changed: Changed) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What both sides' runs cost, from their summaries."""
    found = changed.comparison
    sides = zip(("before", "after"), changed.folders, (found.before, found.after), strict=True)
    for label, folder, name in sides:
        models = summary_of(RunDirectory.open(folder))["models"] if folder is not None else {}
        model = next((each for each in models.values() if each["model"] == name), None)
        if model is not None:
            tokens, latency = model["tokens"], model["latency"]
            counts = (thousands(tokens[kind] or None) for kind in ("input", "output"))
            yield label, (usd(model["cost_usd"]), seconds(latency["mean"]), seconds(latency["p95"]), *counts)
