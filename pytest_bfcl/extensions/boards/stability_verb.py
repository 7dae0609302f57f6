"""Compare many runs of one model: which entries always pass, sometimes or never, and how much chance changes a score.

RUN is a run directory, a results.jsonl, verdicts of `pytest-bfcl score`, or an official score/ folder; PATH#MODEL
selects one of several models. Repeats inside a run count as runs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import say
from pytest_bfcl.reporting.printing import Printer
from pytest_bfcl.reporting.rendering import percent, render
from pytest_bfcl.reporting.tables import Cell, Table

if TYPE_CHECKING:
    from pytest_bfcl.extensions.boards.stability import SmokeSet, Stability
    from pytest_bfcl.scoring.measurements import Judged, Key, Measurement

SUMMARY = "compare many runs of one model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="runs of one model")
    parser.add_argument("--rules", choices=("official", "corrected"), default="official", help="whose verdicts")
    parser.add_argument("--data", default="official", help="data of official score folders (default: official)")
    parser.add_argument(
        "--never",
        type=Path,
        metavar="FILE",
        help="write the entries that never pass, an id a line; .json: as --bfcl-expected reads it",
    )
    parser.add_argument("--smoke", type=int, metavar="N", help="select N entries that predict the whole score")
    parser.add_argument("--smoke-out", type=Path, metavar="FILE", help="write them, for --bfcl-ids")
    parser.add_argument("--seed", type=int, default=0, help="of the smoke set (default: %(default)s)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything for programs")


def run(args: argparse.Namespace) -> int:
    """Print the table and write the requested files."""
    from pytest_bfcl.cli import write_files
    from pytest_bfcl.extensions.boards.stability import repeat_notes, smoke_set, stability

    if args.smoke_out is not None and args.smoke is None:
        raise UsageError("--smoke-out needs --smoke N, the number of entries")
    runs = [_opened(text, args) for text in args.runs]
    notes = repeat_notes([(run.text, run.model, run.measurement.fingerprint) for run in runs])
    found = stability({run.text: run.verdicts for run in runs}, notes)
    if not found.entries:
        raise UsageError("no entry was judged in every run")
    smoke = smoke_set(found, args.smoke, args.seed) if args.smoke is not None else None
    written = write_files({  # first: a reader like `head` may end the printing
        args.never: lambda: _never(found, runs, args),
        args.smoke_out: lambda: "".join(f"{entry_id}\n" for entry_id in smoke.ids) if smoke else "",
        args.html: lambda: render(TEMPLATE, TEMPLATES, **stability_values(found, smoke)),
        args.json: lambda: json.dumps(found.to_dict(), indent=1) + "\n",
    })  # fmt: skip
    print_stability(found, smoke)
    for path in written:
        say(f"written: {path}")
    return 0


class _Run(NamedTuple):
    """One run of one model."""

    text: str
    measurement: Measurement
    model: str
    verdicts: dict[Key, Judged]


def _opened(text: str, args: argparse.Namespace) -> _Run:
    from pytest_bfcl.rescoring import open_data
    from pytest_bfcl.scoring.measurements import is_score_folder, open_measurement

    scores = is_score_folder(Path(text.partition("#")[0]))
    measurement = open_measurement(text, open_data(args.data) if scores else None)
    return _Run(text, measurement, *measurement.only_model(args.rules))


def _never(found: Stability, runs: list[_Run], args: argparse.Namespace) -> str:
    """The entries that never pass: ids, or a file of expected failures of these models on this data."""
    ids = found.ids("never")
    if args.never is None or args.never.suffix != ".json":
        return "".join(f"{entry_id}\n" for entry_id in ids)
    last = runs[-1].measurement
    if last.fingerprint is None:
        raise UsageError(f"--never {args.never}: {last.label} does not say what it measured; name run directories")
    modes = {
        model.model: model.mode for run in runs if (known := run.measurement.fingerprint) for model in known.models
    }
    why = f"passed in none of {len(found.runs)} runs"
    failures = [
        {"model": model, "mode": modes.get(model) or model.rpartition("@")[2], "id": entry_id, "reason": why}
        for model in dict.fromkeys(run.model for run in runs)
        for entry_id in ids
    ]
    content = {"dataset": last.fingerprint.to_dict()["dataset"], "rules": args.rules, "failures": failures}
    return json.dumps(content, indent=1) + "\n"


TEMPLATE = "stability.html.jinja"
HEAD = ("category", "entries", "always", "flaky", "never", "accuracy", "flip rate", "95 % interval", "noise floor")


def categories_table(found: Stability) -> Table:
    """A row for each category."""
    rows = []
    for row in found.categories:
        (low, high), first, last = row.interval95, min(row.accuracies), max(row.accuracies)
        rows.append((
            row.category,
            str(row.entries),
            *(str(row.counts[state]) for state in ("always", "flaky", "never")),
            percent(first) if first == last else f"{percent(first)} – {percent(last)}",
            percent(row.flip_rate),
            f"{percent(low)} – {percent(high)}",
            f"{100 * row.noise:.1f} points",
        ))  # fmt: skip
    return Table(HEAD, rows, spare=("95 % interval", "entries", "accuracy"))


def smoke_text(smoke: SmokeSet) -> str:
    """The value of the selected entries."""
    return (
        f"smoke set of {len(smoke.ids)} entries: predicts the accuracy over all entries within "
        f"{100 * smoke.error:.1f} points (root mean square over {smoke.held_out} predictions of runs held out)"
    )


def print_stability(found: Stability, smoke: SmokeSet | None = None) -> None:
    """Table, left-out entries, the smoke set's error."""
    printer = Printer()
    printer.line(f"{len(found.runs)} runs: {', '.join(found.runs)}")
    for note in found.notes:
        printer.line(note, "yellow")
    printer.table(categories_table(found))
    printer.line("noise floor: two runs of the same model differ by more in one pair of twenty")
    if found.left_out:
        printer.line(f"left out: {found.left_out} entries that some run did not judge")
    if smoke is not None:
        printer.line(smoke_text(smoke))


def stability_values(
    found: Stability, smoke: SmokeSet | None = None, link: Callable[[str], str] | None = None
) -> Parsed:
    """What `TEMPLATE` makes the page of; ``link`` gives the address of an entry's page."""

    def entry(entry_id: str) -> Cell:
        return Cell(entry_id, href=link(entry_id) if link else "", code=True)

    left_out = [f"{found.left_out} entries that some run did not judge are left out."] if found.left_out else []
    flaky = [each for each in found.entries if each.state == "flaky"]
    return {
        "found": found,
        "notes": [*found.notes, *left_out],
        "table": categories_table(found),
        "flaky": [(entry(each.id), " ".join("✓" if passed else "✗" for passed in each.passed)) for each in flaky],
        "never": [(entry(each),) for each in found.ids("never")],
        "smoke": smoke_text(smoke) if smoke else "",
    }
