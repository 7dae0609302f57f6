"""Many runs of one model for people: on a terminal and as a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.reporting.printing import Printer
from pytest_bfcl.reporting.rendering import percent, render

if TYPE_CHECKING:
    from pytest_bfcl.extensions.boards.stability import CategoryStability, SmokeSet, Stability

TEMPLATE = "stability.html.jinja"
HEAD = ("category", "entries", "always", "flaky", "never", "accuracy", "flip rate", "95 % interval", "noise floor")


def row_cells(row: CategoryStability) -> tuple[str, ...]:
    """The texts of one row, in the order of `HEAD`."""
    low, high = row.interval95
    first, last = min(row.accuracies), max(row.accuracies)
    return (
        row.category,
        str(row.entries),
        *(str(row.counts[state]) for state in ("always", "flaky", "never")),
        percent(first) if first == last else f"{percent(first)} – {percent(last)}",
        percent(row.flip_rate),
        f"{percent(low)} – {percent(high)}",
        f"{100 * row.noise:.1f} points",
    )


def smoke_text(smoke: SmokeSet) -> str:
    """What the chosen entries are worth."""
    return (
        f"smoke set of {len(smoke.ids)} entries: predicts the accuracy over all entries within "
        f"{100 * smoke.error:.1f} points (root mean square over {smoke.held_out} predictions of runs held out)"
    )


def print_stability(found: Stability, smoke: SmokeSet | None = None) -> None:
    """Table, what was left out, the smoke set's worth."""
    printer = Printer()
    printer.line(f"{len(found.runs)} runs: {', '.join(found.runs)}")
    for note in found.notes:
        printer.line(note, "yellow")
    printer.table(HEAD, [row_cells(row) for row in found.categories])
    printer.line("noise floor: two runs of the same model differ by more in one pair of twenty")
    if found.left_out:
        printer.line(f"left out: {found.left_out} entries that some run did not judge")
    if smoke is not None:
        printer.line(smoke_text(smoke))


def stability_html(found: Stability, smoke: SmokeSet | None = None) -> str:
    """A self-contained page: the table, and the entries that flip or never pass."""
    return render(TEMPLATE, TEMPLATES, **stability_values(found, smoke))


def stability_values(
    found: Stability, smoke: SmokeSet | None = None, link: Callable[[str], str] | None = None
) -> Parsed:
    """What `TEMPLATE` makes the page of; ``link`` gives the address of an entry's page."""
    return {
        "found": found,
        "head": HEAD,
        "rows": [row_cells(row) for row in found.categories],
        "flaky": [entry for entry in found.entries if entry.state == "flaky"],
        "never": found.ids("never"),
        "smoke": smoke_text(smoke) if smoke else "",
        "link": link,
    }
