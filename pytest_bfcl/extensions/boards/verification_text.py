"""A verification in words: its verdict, the tables of measures and of several runs; for programs and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.extensions.boards.verification import HARD_MARGIN, Row, Side, Verification
from pytest_bfcl.json_types import JsonObject
from pytest_bfcl.reporting.printing import Printer
from pytest_bfcl.reporting.rendering import percent, render, signed
from pytest_bfcl.reporting.tables import Table
from pytest_bfcl.scoring.conduct import FAULTS

SHARES = {"precision": "precision", "recall": "recall", "f1": "F1"}
COUNTS = ("both", "only_served", "only_reference", "neither")


def sentence(found: Verification) -> str:
    """The verdict in words."""
    if found.verdict == "same":
        return (
            f"serves the model the same within {100 * found.margin:g} points "
            f"(hard faults within {100 * min(found.margin, HARD_MARGIN):g})"
        )
    if found.verdict == "unknown":
        return f"too few requests to tell: about {found.more:,} more would do"
    told = [f"{percent(row.after)} of entries {row.measure.words}, {percent(row.before)} there" for row in found.others]
    return "differs from the reference: " + "; ".join(told)


def noise(found: Verification) -> str:
    """The source of the noise floor."""
    if found.repeated > 1:
        return f"noise floor measured between {found.repeated} runs of the reference"
    return (
        "noise floor from the binomial of entries on which the two runs differ: a second run of the reference "
        "(another --reference, or one with --repeat) would measure it"
    )


def to_dict(found: Verification) -> JsonObject:
    """A JSON-able copy."""
    return {
        "verdict": found.verdict,
        "sentence": sentence(found),
        "served": found.served.label,
        "reference": found.reference.label,
        "entries": found.entries,
        "more": found.more if found.verdict == "unknown" else 0,
        "margin": found.margin,
        "noise": noise(found),
        "trigger": {name: getattr(found.trigger, name) for name in (*COUNTS, *SHARES)},
        "measures": {
            row.measure.name: {
                "entries": row.entries,
                "reference": row.before,
                "served": row.after,
                "difference": row.difference,
                "interval99": list(row.interval99),
                "noise_floor": row.floor,
                "loss_at_most": row.worst,
                "margin": row.margin,
                "other": row.is_other,
            }
            for row in found.rows
        },
        "notes": list(found.notes),
    }


TEMPLATE = "verification.html.jinja"
HEAD = (
    "entries that …", "entries", "reference", "served", "difference", "99 % interval", "noise floor",
    "loss at most", "margin", "",
)  # fmt: skip
TABLE_HEAD = (
    "rank", "run", "verdict", "entries", "calls", "valid", "unknown", "broken", "invalid", "reasoning only", "empty",
    "errors", "accuracy", "trigger F1", "seconds", "tokens",
)  # fmt: skip
COLOURS = {"same": "green", "other": "red", "unknown": "yellow"}
CHIPS = {"same": "passed", "other": "failed", "unknown": "skipped"}
WORDS = {"same": "same", "other": "differs", "unknown": "too few"}


def measures_table(found: Verification) -> Table:
    """A row for each measure."""
    spare = ("noise floor", "entries", "difference", "margin", "loss at most")
    return Table(HEAD, list(map(_cells, found.rows)), spare=spare)


def _cells(row: Row) -> tuple[str, ...]:
    low, high = row.interval99
    apart = row.is_told_apart and row.loss
    mark = ("differs" if apart > 0 else "better") if apart else "" if row.is_same else "too few"
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
    shares = ", ".join(f"{words} {percent(getattr(found.trigger, name))}" for name, words in SHARES.items())
    yield f"decisions to call against the reference's: {shares}"
    yield noise(found)
    yield from found.notes


def _calls(side: Side) -> str:
    calls = side.tally.calls
    faults = ", ".join(f"{calls[name]} {name}" for name in FAULTS)
    return f"{percent(side.tally.valid_share, 2)} of {calls['calls']:,} calls valid ({faults})"


def _figure(value: float | None, unit: str) -> str:
    return "–" if value is None else f"{value:,.2f} {unit}" if unit == "s" else f"{value:,.0f} {unit}"


def print_verification(found: Verification) -> None:
    """Measures, facts, the verdict last."""
    printer = Printer()
    printer.line(f"{found.served.label} against {found.reference.label}: {found.entries:,} entries", "bold")
    printer.table(measures_table(found))
    for line in fact_lines(found):
        printer.line(line)
    printer.line(sentence(found), COLOURS[found.verdict])


Compared = tuple[Side, Verification | None]
"""One run of the table; with its verification, if there is a reference."""


def written_side(side: Side, found: Verification | None) -> JsonObject:
    """A JSON-able copy."""
    return {
        "run": side.label,
        "conduct": cast("JsonObject | None", side.tally.to_dict()),
        "errors": side.tally.entries["errors"],
        "accuracy": side.accuracy,
        "latency_s": side.latency_s,
        "output_tokens": side.output_tokens,
        "verification": None if found is None else to_dict(found),
    }


def _order(each: Compared) -> tuple[float, float, float]:
    """The best first: by agreement with the reference on when to call, then valid calls, then accuracy."""
    side, found = each
    f1 = None if found is None else found.trigger.f1
    return (-(f1 or 0.0), -(side.tally.valid_share or 0.0), -(side.accuracy or 0.0))


def runs_table(sides: Sequence[Compared]) -> Table:
    """A row for each run, the best first; ties share a rank."""
    ordered = sorted(sides, key=_order)
    orders = list(map(_order, ordered))
    rows = [
        (
            str(1 + orders.index(_order((side, found)))),
            side.label,
            "–" if found is None else WORDS[found.verdict],
            f"{side.tally.entries['entries']:,}",
            f"{side.tally.calls['calls']:,}",
            percent(side.tally.valid_share, 2),
            *(str(side.tally.calls[name]) for name in FAULTS),
            *(str(side.tally.entries[name]) for name in ("reasoning_only", "empty", "errors")),
            percent(side.accuracy),
            "–" if found is None else percent(found.trigger.f1),
            "–" if side.latency_s is None else f"{side.latency_s:.2f}",
            "–" if side.output_tokens is None else f"{side.output_tokens:,.0f}",
        )
        for side, found in ordered
    ]
    spare = ("empty", "reasoning only", "tokens", "seconds", "unknown", "broken", "invalid", "entries")
    return Table(TABLE_HEAD, rows, (1, 0, 2), spare=spare)


def verification_html(found: Sequence[Verification], sides: Sequence[Compared]) -> str:
    """A self-contained page: the table of several runs, then each verification."""
    return render(
        TEMPLATE,
        TEMPLATES,
        table=runs_table(sides) if len(sides) > 1 else None,
        chips=CHIPS,
        words=WORDS,
        sections=[(each, sentence(each), measures_table(each), list(fact_lines(each))) for each in found],
    )
