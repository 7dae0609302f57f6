"""Comparisons of two models on a terminal, as Markdown, and as a page with both answers side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.extensions.boards.changed import Changed, Source
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.reporting.markdown import cell, table
from pytest_bfcl.reporting.printing import Printer
from pytest_bfcl.reporting.rendering import ANY_VALUE, is_open, percent, render, seconds, signed, thousands, usd
from pytest_bfcl.reporting.report import summary_of
from pytest_bfcl.reporting.tables import Cell, Table
from pytest_bfcl.runs.directory import RunDirectory

if TYPE_CHECKING:
    from pytest_bfcl.scoring.comparison import Comparison
    from pytest_bfcl.scoring.comparison_rows import Change, Row


HEAD = ("group", "entries", "before", "after", "difference", "95 % interval", "improved", "regressed", "p")
SHOWN = 20
"""Entries listed on a terminal, and in Markdown without folding; the page lists all."""
TOLD = 10
"""Entries whose reason Markdown explains in words."""


def title(comparison: Comparison) -> str:
    """The two models; with their runs if they have one name."""
    before = comparison.before or comparison.before_run
    after = comparison.after or comparison.after_run
    if before == after:
        before, after = f"{before} in {comparison.before_run}", f"{after} in {comparison.after_run}"
    return f"{before} → {after}"


def verdict(comparison: Comparison, margin: float = 0.0) -> str:
    """One sentence: significant losses and gains, or that there are none. ``margin`` is a fraction."""
    if not comparison.rows and comparison.apart:
        return (
            "No entry was judged in both: the two samples are compared as a whole, with unpaired intervals, which are "
            "wider. No gate takes this."
        )
    if not comparison.rows:
        return "No entry was judged in both."
    losses = comparison.losses(margin)
    if losses:
        told = ", ".join(f"{row.name} {signed(row.difference)}" for row in losses)
        return f"Significant regression: {told} points."
    gains = [row for name in comparison.gated if (row := comparison.rows[name]).interval95[0] > 0]
    beyond = f" of more than {100 * margin:g} points" if margin else ""
    if gains:
        told = ", ".join(f"{row.name} {signed(row.difference)}" for row in gains)
        return f"No significant regression{beyond}; better beyond chance: {told} points."
    return f"No significant regression{beyond}: the differences may be chance."


def counts(comparison: Comparison) -> str:
    """How many entries changed."""
    improved, regressed = len(comparison.improved), len(comparison.regressed)
    return f"{improved} improved, {regressed} regressed, {comparison.unchanged} unchanged"


def scores_table(comparison: Comparison) -> Table:
    """Overall, groups of several categories, categories; a group equal to another row is left out.

    Difference and interval are marked where chance is ruled out.
    """
    rows = list((comparison.rows or comparison.apart).values())
    groups = [row for row in comparison.distinct(rows) if row.name not in CATEGORIES and len(row.categories) > 1]
    shown = [*groups, *(row for row in rows if row.name in CATEGORIES)]
    kinds = ["overall" if r.name == "overall" else "category" if r.name in CATEGORIES else "group" for r in shown]
    return Table(HEAD, list(map(_cells, shown)), kinds=kinds, spare=("p", "regressed", "improved"))


def _cells(row: Row) -> tuple[str | Cell, ...]:
    low, high = row.interval95
    mark = "down" if high < 0 else "up" if low > 0 else ""
    return (
        row.name,
        str(row.entries),
        percent(row.before, 2),
        percent(row.after, 2),
        Cell(signed(row.difference), mark=mark),
        Cell(ANY_VALUE if is_open(row.interval95, -1.0) else f"{100 * low:+.1f} to {100 * high:+.1f}", mark=mark),
        str(row.improved),
        str(row.regressed),
        "<0.0001" if row.chance < 0.0001 else f"{row.chance:.4f}",
    )


def tags_table(comparison: Comparison, *, changed: bool = False) -> Table:
    """How many entries had which tags before and after: changes first, the most frequent first, or only changes."""
    found = [(before, after, count) for (before, after), count in comparison.tags.items()]
    found.sort(key=lambda item: (item[0] == item[1], -item[2], item[0], item[1]))
    rows = [(before, after, str(count)) for before, after, count in found if not changed or before != after]
    return Table(("tag before", "tag after", "entries"), rows, (0, 1))


# Terminal.


def print_comparison(comparison: Comparison, margin: float = 0.0) -> None:
    """Table, verdict, regressed entries, changed tags."""
    printer = Printer()
    printer.line(title(comparison), "bold")
    for note in comparison.notes:
        printer.line(f"note: {note}", "yellow")
    printer.table(scores_table(comparison))
    printer.line(counts(comparison))
    printer.line(verdict(comparison, margin), "bold red" if comparison.losses(margin) else "bold green")
    for heading, changes in _lists(comparison):
        printer.line()
        printer.line(heading, "bold")
        for change in changes[:SHOWN]:
            printer.line(f"  {change.text}")
        if len(changes) > SHOWN:
            printer.line(f"  … and {len(changes) - SHOWN} more (--markdown and --html list them)", "dim")
    if (moved := tags_table(comparison, changed=True)).rows:
        printer.table(moved)
    printer.line()


def _lists(comparison: Comparison) -> Iterator[tuple[str, list[Change]]]:
    if comparison.regressed:
        yield "regressed (the categories that lost most first)", comparison.regressed_worst_first
    if comparison.improved:
        yield "improved", comparison.improved


# Markdown.


def comparison_markdown(found: Sequence[Changed], margin: float = 0.0, *, most: int | None = None) -> str:
    """All comparisons as GitHub Markdown, with the first changes of each explained; ends in a newline. ``most``:
    entries that each list names; ``None``: all.
    """
    return "\n\n".join(block for each in found for block in _markdown(each, margin, most)) + "\n"


def _markdown(changed: Changed, margin: float, most: int | None) -> Iterator[str]:
    comparison = changed.comparison
    yield f"### {cell(title(comparison))}"
    for note in comparison.notes:
        yield f"> {cell(note)}"
    yield f"**{cell(verdict(comparison, margin))}**"
    yield table(scores_table(comparison))
    yield counts(comparison)
    for heading, changes in _lists(comparison):
        unnamed = 0 if most is None else max(0, len(changes) - most)
        changes = changes[:most]
        if unnamed:
            heading = f"{heading}: {unnamed} more are not named here"
        first = changes[:TOLD]
        yield f"**{heading}**"
        if first:
            yield "\n".join(f"- {cell(change.text)}<br>{cell(changed.words(change))}" for change in first)
        if rest := changes[TOLD:]:
            opened = " open" if len(changes) <= SHOWN else ""
            yield f"<details{opened}><summary>{heading}: {len(rest)} more</summary>"
            yield "\n".join(f"- {cell(change.text)}" for change in rest)
            yield "</details>"
    if (moved := tags_table(comparison)).rows:
        yield table(moved)


TEMPLATE = "comparison.html.jinja"
USAGE = ("run", "cost", "latency mean", "95th percentile", "tokens in", "tokens out")
MOST_OPENED = 400
"""Changes of one comparison that a page shows side by side; others are listed with their links."""


def comparison_html(found: Sequence[Changed], entry: Source, margin: float = 0.0, *, page: Path | None = None) -> str:
    """All comparisons as one page; links to entries' pages are relative to ``page``, without it there are none."""
    return render(TEMPLATE, TEMPLATES, **comparison_values(found, entry, margin, page=page))


def comparison_values(
    found: Sequence[Changed], entry: Source, margin: float = 0.0, *, page: Path | None = None, most: int = MOST_OPENED
) -> Parsed:
    """The values of the page's `TEMPLATE`; of each comparison ``most`` changes are shown side by side."""
    sections = [_section(each, entry, margin, page, most) for each in found]
    return {"sections": sections, "usage_head": USAGE}


def _section(changed: Changed, entry: Source, margin: float, page: Path | None, most: int) -> Parsed:
    """One comparison; ``causes`` with entries that fail for it now and passed before, that failed for it before and
    pass now, and the difference.
    """
    found = changed.comparison
    worst = found.regressed_worst_first
    regressed = list(changed.opened(worst, entry, page=page, most=most))
    improved = list(changed.opened(found.improved, entry, page=page, most=max(most - len(worst), 0)))
    both = [*regressed, *improved]
    pairs = Counter(each.reasons for each in both)
    return {
        "title": title(found),
        "verdict": verdict(found, margin),
        "lost": bool(found.losses(margin)),
        "counts": counts(found),
        "notes": found.notes,
        "scores": scores_table(found),
        "regressed": regressed,
        "improved": improved,
        "categories": Counter(each.change.category for each in both).most_common(),
        "tags": tags_table(found),
        "pairs": [(before, after, str(count)) for (before, after), count in pairs.most_common()],
        "left_out": sum(each.pair is None and not each.beside for each in both),
        "causes": [(cause, str(lost), str(won), f"{won - lost:+d}") for cause, lost, won in changed.causes()],
        "usage": list(_usage(changed)),
    }


def _usage(changed: Changed) -> Iterator[tuple[str, ...]]:
    """What both sides' runs cost, from their summaries."""
    found = changed.comparison
    sides = zip(("before", "after"), changed.folders, (found.before, found.after), strict=True)
    for label, folder, name in sides:
        models = summary_of(RunDirectory.open(folder))["models"] if folder is not None else {}
        model = next((each for each in models.values() if each["model"] == name), None)
        if model is not None:
            tokens, latency = model["tokens"], model["latency"]
            counts = (thousands(tokens[kind] or None) for kind in ("input", "output"))
            cells = (usd(model["cost_usd"]), seconds(latency["mean"]), seconds(latency["p95"]), *counts)
            if any(text != "–" for text in cells):
                yield label, *cells
