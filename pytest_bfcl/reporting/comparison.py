"""A comparison of two models for people: on a terminal, as Markdown, as a page of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.reporting.markdown import cell
from pytest_bfcl.reporting.rendering import percent, render, visible

if TYPE_CHECKING:
    from rich.console import Console

    from pytest_bfcl.scoring.comparison import Change, Comparison, Row

HEAD = ("group", "entries", "before", "after", "difference", "95 % interval", "improved", "regressed", "exact p")
SHOWN = 20
"""Entries listed on a terminal and in Markdown; the page lists all."""


def title(comparison: Comparison) -> str:
    """Who is set against whom; with the runs when the models have one name."""
    before = comparison.before or comparison.before_run
    after = comparison.after or comparison.after_run
    if before == after:
        before, after = f"{before} in {comparison.before_run}", f"{after} in {comparison.after_run}"
    return f"{before} → {after}"


def verdict(comparison: Comparison, margin: float = 0.0) -> str:
    """One sentence: significant losses and gains, or that there are none. ``margin`` is a fraction."""
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


def signed(fraction: float) -> str:
    """Percentage points with their sign."""
    return f"{100 * fraction:+.2f}"


def p_text(value: float) -> str:
    """A p-value as people read it."""
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def kind(row: Row) -> str:
    """``overall``, ``category`` or ``group``: how the row is set."""
    return "overall" if row.name == "overall" else "category" if row.name in CATEGORIES else "group"


def row_cells(row: Row) -> tuple[str, ...]:
    """The texts of one row, in the order of `HEAD`."""
    low, high = row.interval95
    return (
        row.name,
        str(row.entries),
        percent(row.before, 2),
        percent(row.after, 2),
        signed(row.difference),
        f"{signed(low)} to {signed(high)}",
        str(row.improved),
        str(row.regressed),
        p_text(row.p_value),
    )


def shown_rows(comparison: Comparison) -> list[Row]:
    """Overall, groups of more than one category, categories; a group that only repeats another row is left out."""
    rows = list(comparison.rows.values())
    groups = [row for row in comparison.distinct(rows) if row.name not in CATEGORIES and len(row.categories) > 1]
    return [*groups, *(row for row in rows if row.name in CATEGORIES)]


def change_text(change: Change) -> str:
    """``id: reason before → reason after``."""
    return f"{change.id}: {change.before or 'passed'} → {change.after or 'passed'}"


def tag_lines(comparison: Comparison) -> list[tuple[str, str, int]]:
    """(tag before, tag after, entries), changes first, the most frequent first."""
    found = [(before, after, count) for (before, after), count in comparison.tags.items()]
    return sorted(found, key=lambda item: (item[0] == item[1], -item[2], item[0], item[1]))


# Terminal.


def print_comparison(comparison: Comparison, console: Console, margin: float = 0.0) -> None:
    """Table, verdict, entries that regressed, tags that moved."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    def say(text: Text) -> None:
        console.print(text, soft_wrap=True)

    say(Text(visible(title(comparison)), style="bold"))
    for note in comparison.notes:
        say(Text(f"note: {visible(note)}", style="yellow"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, name in enumerate(HEAD):
        table.add_column(name, justify="right" if position else "left", no_wrap=True)
    for row in shown_rows(comparison):
        style = "red" if row.interval95[1] < 0 else "green" if row.interval95[0] > 0 else ""
        table.add_row(*(Text(text) for text in row_cells(row)), style=style)
    console.print(table)
    say(Text(counts(comparison)))
    lost = bool(comparison.losses(margin))
    say(Text(verdict(comparison, margin), style="bold red" if lost else "bold green"))
    for heading, changes in _lists(comparison):
        say(Text(f"\n{heading}", style="bold"))
        for change in changes[:SHOWN]:
            say(Text(f"  {visible(change_text(change))}"))
        if len(changes) > SHOWN:
            say(Text(f"  … and {len(changes) - SHOWN} more (--markdown and --html list them)", style="dim"))
    moved = [(before, after, count) for before, after, count in tag_lines(comparison) if before != after]
    if moved:
        tags = Table("tag before", "tag after", "entries", box=box.SIMPLE_HEAD, pad_edge=False)
        for before, after, count in moved:
            tags.add_row(Text(before), Text(after), str(count))
        console.print(tags)
    console.print()


def _lists(comparison: Comparison) -> Iterator[tuple[str, list[Change]]]:
    if comparison.regressed:
        yield "regressed (the categories that lost most first)", comparison.regressed_worst_first
    if comparison.improved:
        yield "improved", comparison.improved


# Markdown.


def comparison_markdown(comparisons: Sequence[Comparison], margin: float = 0.0) -> str:
    """All comparisons as GitHub Markdown; ends in a newline."""
    return "\n\n".join(block for found in comparisons for block in _markdown(found, margin)) + "\n"


def _markdown(comparison: Comparison, margin: float) -> Iterator[str]:
    yield f"### {cell(title(comparison))}"
    for note in comparison.notes:
        yield f"> {cell(note)}"
    yield f"**{cell(verdict(comparison, margin))}**"
    yield _table(HEAD, [tuple(map(cell, row_cells(row))) for row in shown_rows(comparison)])
    yield counts(comparison)
    for heading, changes in _lists(comparison):
        opened = " open" if len(changes) <= SHOWN else ""
        yield f"<details{opened}><summary>{heading}: {len(changes)}</summary>"
        yield "\n".join(f"- {cell(change_text(change))}" for change in changes)
        yield "</details>"
    moved = [(cell(before), cell(after), str(count)) for before, after, count in tag_lines(comparison)]
    if moved:
        yield _table(("tag before", "tag after", "entries"), moved)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


# HTML.


@dataclass(frozen=True, slots=True)
class Section:
    """One comparison as the template wants it."""

    title: str
    verdict: str
    lost: bool
    notes: Sequence[str]
    rows: Sequence[tuple[str, tuple[str, ...], str]]
    regressed: Sequence[Change]
    improved: Sequence[Change]
    unchanged: int
    tags: Sequence[tuple[str, str, int]]


def comparison_html(comparisons: Sequence[Comparison], margin: float = 0.0) -> str:
    """All comparisons as one self-contained page."""
    sections = [
        Section(
            title(found),
            verdict(found, margin),
            bool(found.losses(margin)),
            found.notes,
            [(kind(row), row_cells(row), _direction(row)) for row in shown_rows(found)],
            found.regressed_worst_first,
            found.improved,
            found.unchanged,
            tag_lines(found),
        )
        for found in comparisons
    ]
    return render("comparison.html.jinja", sections=sections, head=HEAD)


def _direction(row: Row) -> str:
    return "down" if row.interval95[1] < 0 else "up" if row.interval95[0] > 0 else ""
