"""A verification and the table of providers, on a terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.reporting.printing import Printer
from pytest_bfcl.reporting.rendering import percent, render, signed

if TYPE_CHECKING:
    from pytest_bfcl.extensions.boards.verification import Row, Side, Trigger, Verification
    from pytest_bfcl.json_types import JsonObject

TEMPLATE = "verification.html.jinja"
HEAD = (
    "entries that …", "entries", "reference", "served", "difference", "99 % interval of all", "noise floor",
    "loss at most", "margin", "",
)  # fmt: skip
TABLE_HEAD = (
    "rank", "run", "verdict", "entries", "calls", "valid", "unknown", "broken", "invalid", "reasoning only", "empty",
    "errors", "accuracy", "trigger F1", "seconds", "tokens",
)  # fmt: skip
COLOURS = {"same": "green", "other": "red", "unknown": "yellow"}
CHIPS = {"same": "passed", "other": "failed", "unknown": "skipped"}
WORDS = {"same": "same", "other": "differs", "unknown": "too few"}


def row_cells(row: Row) -> tuple[str, ...]:
    """The texts of one measure, in the order of `HEAD`."""
    low, high = row.interval99
    mark = "differs" if row.is_other else "better" if row.is_better else "" if row.is_same else "too few"
    return (
        row.measure.words,
        f"{row.entries:,}",
        percent(row.before, 2),
        percent(row.after, 2),
        signed(row.difference),
        f"{signed(low)} – {signed(high)}",
        f"{100 * row.floor:.2f}",
        signed(row.worst),
        f"{100 * row.margin:g}",
        mark,
    )


def fact_lines(found: Verification) -> Iterator[str]:
    """The other figures: calls, decisions to call, time and tokens, the source of the noise floor."""
    for side in (found.reference, found.served):
        medians = f"{_figure(side.latency_s, 's')}, {_figure(side.output_tokens, 'tokens out')}"
        yield f"{side.label}: {_calls(side)}; median {medians}"
    yield f"decisions to call against the reference's: {_trigger(found.trigger)}"
    yield found.noise
    yield from found.notes


def _calls(side: Side) -> str:
    calls = side.tally.calls
    faults = ", ".join(f"{calls[name]} {name}" for name in ("unknown", "broken", "invalid"))
    return f"{percent(side.tally.valid_share, 2)} of {calls['calls']:,} calls valid ({faults})"


def _trigger(found: Trigger) -> str:
    return f"precision {percent(found.precision)}, recall {percent(found.recall)}, F1 {percent(found.f1)}"


def _figure(value: float | None, unit: str) -> str:
    return "–" if value is None else f"{value:,.2f} {unit}" if unit == "s" else f"{value:,.0f} {unit}"


def print_verification(found: Verification) -> None:
    """Measures, facts, the verdict last."""
    printer = Printer()
    printer.line(f"{found.served.label} against {found.reference.label}: {found.entries:,} entries", "bold")
    printer.table(HEAD, list(map(row_cells, found.rows)), spare=("noise floor", "entries", "difference", "margin", "loss at most"))
    for line in fact_lines(found):
        printer.line(line)
    printer.line(found.sentence, COLOURS[found.verdict])


@dataclass(frozen=True, slots=True)
class Provider:
    """One run of the table; ``found`` if there is a reference."""

    side: Side
    found: Verification | None = None

    @property
    def order(self) -> tuple[float, float, float]:
        """The best first: by agreement with the reference on when to call, then valid calls, then accuracy."""
        f1 = None if self.found is None else self.found.trigger.f1
        return (-(f1 or 0.0), -(self.side.tally.valid_share or 0.0), -(self.side.accuracy or 0.0))

    def cells(self, rank: int) -> tuple[str, ...]:
        """The texts of its line, in the order of `TABLE_HEAD`."""
        side, tally, found = self.side, self.side.tally, self.found
        return (
            str(rank),
            side.label,
            "–" if found is None else WORDS[found.verdict],
            f"{tally.entries['entries']:,}",
            f"{tally.calls['calls']:,}",
            percent(tally.valid_share, 2),
            *(str(tally.calls[name]) for name in ("unknown", "broken", "invalid")),
            *(str(tally.entries[name]) for name in ("reasoning_only", "empty", "errors")),
            percent(side.accuracy),
            "–" if found is None else percent(found.trigger.f1),
            "–" if side.latency_s is None else f"{side.latency_s:.2f}",
            "–" if side.output_tokens is None else f"{side.output_tokens:,.0f}",
        )

    def to_dict(self) -> JsonObject:
        """A JSON-able copy."""
        conduct = self.side.tally.to_dict()
        return {
            "run": self.side.label,
            "conduct": cast("JsonObject | None", conduct),
            "errors": self.side.tally.entries["errors"],
            "accuracy": self.side.accuracy,
            "latency_s": self.side.latency_s,
            "output_tokens": self.side.output_tokens,
            "verification": None if self.found is None else self.found.to_dict(),
        }


def table_rows(providers: Sequence[Provider]) -> list[tuple[str, ...]]:
    """Lines of the table, the best provider first; ties share a rank."""
    ordered = sorted(providers, key=lambda each: each.order)
    orders = [each.order for each in ordered]
    return [each.cells(1 + orders.index(each.order)) for each in ordered]


def print_table(providers: Sequence[Provider]) -> None:
    """The table of providers."""
    spare = ("empty", "reasoning only", "tokens", "seconds", "unknown", "broken", "invalid", "entries", "rank")
    Printer().table(TABLE_HEAD, table_rows(providers), left=2, spare=spare)


def verification_html(found: Sequence[Verification], providers: Sequence[Provider]) -> str:
    """A self-contained page: the table of several runs, then each verification."""
    return render(
        TEMPLATE,
        TEMPLATES,
        table_head=TABLE_HEAD,
        table=table_rows(providers) if len(providers) > 1 else [],
        head=HEAD,
        chips=CHIPS,
        words=WORDS,
        sections=[(each, [row_cells(row) for row in each.rows], list(fact_lines(each))) for each in found],
    )
