"""Test whether a server gives the same model as a reference run.

RUN is a stored run. With --model SPEC the command first runs the reference's entries on that model, with the options
of `pytest-bfcl run`. The reference is a run of the same model elsewhere, for example at its vendor's endpoint or in
full precision. Several --reference measure the noise floor. --table ranks several runs.

Exit code 0: the same within the margin; 1: different; 3: too few requests to decide. With --table 0.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say
from pytest_bfcl.reporting.printing import Printer
from pytest_bfcl.reporting.rendering import percent, render, signed

if TYPE_CHECKING:
    from pytest_bfcl.extensions.boards.served_runs import Find, ServedRun
    from pytest_bfcl.extensions.boards.verification import Row, Side, Trigger, Verification
    from pytest_bfcl.json_types import JsonObject
    from pytest_bfcl.scoring.measurements import Measurement

STOPPED = (2, 5)
"""Codes of a run that did not finish, or sent nothing."""

SUMMARY = "compare a server with a reference run of the same model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb, and all of `pytest-bfcl run`."""
    from pytest_bfcl.cli.run import add_run_options

    parser.add_argument("runs", nargs="*", metavar="RUN", help="stored runs (PATH#MODEL picks one of several models)")
    parser.add_argument(
        "--reference", action="append", default=[], metavar="RUN", help="what to compare with; repeatable"
    )
    parser.add_argument(
        "--margin", type=float, default=3.0, metavar="PTS",
        help="exit code 0 only if a loss of more points than this is ruled out "
        "(default: %(default)g)",
    )  # fmt: skip
    parser.add_argument("--table", action="store_true", help="rank the runs in one table; --reference is optional")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything for programs")
    add_run_options(parser, shown=False)


def run(args: argparse.Namespace) -> int:
    """Run the named model, print verdicts or the table, write the requested files."""
    from pytest_bfcl.cli import write_file
    from pytest_bfcl.extensions.boards.served_runs import open_served, verify_runs
    from pytest_bfcl.extensions.boards.verification import EXIT_CODES, side_of

    _refuse(args)
    references = [open_served(path, _entries) for path in args.reference]
    if _models(args):
        if references:
            _tell_needed(args, references[0])
        code = _ask(args, references[0])
        if code in STOPPED:
            return code
        args.runs = [str(args.out)]
    served = [open_served(path, _entries) for path in args.runs]
    found = [verify_runs(each, references, args.margin / 100) for each in served] if references else []
    providers = [Provider(each.served, each) for each in found]
    if not found:
        providers = [Provider(side_of(each.label, each.run)) for each in served]
    content = [each.to_dict() for each in providers] if args.table else found[0].to_dict()
    texts = {args.html: verification_html(found, providers), args.json: json.dumps(content, indent=1) + "\n"}
    written = [path for path in texts if path is not None]
    for path in written:  # first: a reader like `head` may end the printing
        write_file(path, texts[path])
    if args.table:
        print_table(providers)
    else:
        print_verification(found[0])
    for path in written:
        say(f"written: {path}")
    return 0 if args.table or not found else EXIT_CODES[found[0].verdict]


def _models(args: argparse.Namespace) -> list[str]:
    """The models to run."""
    return list(getattr(args, "bfcl_model", None) or ())


def _refuse(args: argparse.Namespace) -> None:
    """Raise `UsageError` for options without effect together."""
    models = _models(args)
    if not 0 < args.margin <= 100:
        raise UsageError("--margin: percentage points above 0, at most 100")
    if models and args.runs:
        raise UsageError("name either stored runs or --model, not both")
    if len(models) > 1:
        raise UsageError("one --model at a time: each server has its own verdict")
    if not args.table and not args.reference:
        raise UsageError("name the run to compare with: --reference RUN (only --table needs none)")
    if not args.runs and not models:
        raise UsageError("name a stored run, or a model with --model SPEC")
    if not args.table and len(args.runs) > 1:
        raise UsageError("one run has one verdict; --table ranks several")


def _entries(measurement: Measurement) -> Find:
    """Where the entries of a run are, for lines without a stored form of calls."""
    from pytest_bfcl.reporting.sources import questions

    known = measurement.fingerprint
    return questions(None, {"name": "official"} if known is None else known.to_dict()["dataset"])


def _tell_needed(args: argparse.Namespace, reference: ServedRun) -> None:
    """How many requests are enough, before any is sent."""
    from pytest_bfcl.extensions.boards.verification import requests_needed

    needed, had = requests_needed(reference.run, args.margin / 100), len(reference.run)
    few = f"; the reference has {had:,}, so the verdict may be too few requests" if had < needed else ""
    say(f"up to {needed:,} entries are needed to call an equal server the same within {args.margin:g} points{few}")


def _ask(args: argparse.Namespace, reference: ServedRun) -> int:
    """Send the reference's requests to the model, unless options change them; returns the run's exit code."""
    from pytest_bfcl.cli import run as run_verb
    from pytest_bfcl.runs.directory import default_path

    given = vars(args)
    args.files = []
    args.out = args.out or default_path(_models(args))
    known = reference.measurement.fingerprint
    if "bfcl_data" not in given and known is not None and known.dataset in ("official", "bundled"):
        args.bfcl_data = known.dataset
    with tempfile.TemporaryDirectory() as folder:
        if not {f"bfcl_{name}" for name in ("categories", "ids", "sample", "shard")} & given.keys():
            args.bfcl_ids = str(Path(folder) / "ids.txt")
            Path(args.bfcl_ids).write_text("".join(f"{entry_id}\n" for entry_id in reference.run), encoding="utf-8")
        return run_verb.run(args)


# Terminal and page.

TEMPLATE = "verification.html.jinja"
HEAD = (
    "entries that …", "entries", "reference", "served", "difference", "99 % interval", "noise floor",
    "loss at most", "margin", "",
)  # fmt: skip
SPARE = ("noise floor", "entries", "difference", "margin", "loss at most")
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
    printer.table(HEAD, list(map(row_cells, found.rows)), spare=SPARE)
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
    spare = ("empty", "reasoning only", "tokens", "seconds", "unknown", "broken", "invalid", "entries")
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
