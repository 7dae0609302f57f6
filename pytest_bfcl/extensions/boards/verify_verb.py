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
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say
from pytest_bfcl.reporting.printing import Printer

if TYPE_CHECKING:
    from pytest_bfcl.extensions.boards.served_runs import Find, ServedRun
    from pytest_bfcl.extensions.boards.verification_text import Compared
    from pytest_bfcl.scoring.measurements import Measurement

EXIT_CODES = {"same": 0, "other": 1, "unknown": 3}
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
    from pytest_bfcl.cli import write_files
    from pytest_bfcl.extensions.boards.served_runs import open_served, verify_runs
    from pytest_bfcl.extensions.boards.verification import side_of
    from pytest_bfcl.extensions.boards.verification_text import (
        print_verification,
        runs_table,
        to_dict,
        verification_html,
        written_side,
    )

    models = list(getattr(args, "bfcl_model", None) or ())
    _refuse(args, models)
    references = [open_served(path, _entries) for path in args.reference]
    if models:
        _tell_needed(args, references[0])
        code = _ask(args, models, references[0])
        if code in STOPPED:
            return code
        args.runs = [str(args.out)]
    served = [open_served(path, _entries) for path in args.runs]
    found = [verify_runs(each, references, args.margin / 100) for each in served] if references else []
    sides: list[Compared] = [(each.served, each) for each in found]
    sides = sides or [(side_of(each.label, each.run), None) for each in served]
    content = [written_side(*each) for each in sides] if args.table else to_dict(found[0])
    written = write_files(  # first: a reader like `head` may end the printing
        {args.html: lambda: verification_html(found, sides), args.json: lambda: json.dumps(content, indent=1) + "\n"}
    )
    if args.table:
        Printer().table(runs_table(sides))
    else:
        print_verification(found[0])
    for path in written:
        say(f"written: {path}")
    return 0 if args.table else EXIT_CODES[found[0].verdict]


def _refuse(args: argparse.Namespace, models: list[str]) -> None:
    """Raise `UsageError` for options without effect together."""
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


def _ask(args: argparse.Namespace, models: list[str], reference: ServedRun) -> int:
    """Send the reference's requests to the model, unless options change them; returns the run's exit code."""
    from pytest_bfcl.cli import run as run_verb
    from pytest_bfcl.runs.directory import default_path

    given = vars(args)
    args.files = []
    args.out = args.out or default_path(models)
    known = reference.measurement.fingerprint
    if "bfcl_data" not in given and known is not None and known.dataset in ("official", "bundled"):
        args.bfcl_data = known.dataset
    with tempfile.TemporaryDirectory() as folder:
        if not {f"bfcl_{name}" for name in ("categories", "ids", "sample", "shard")} & given.keys():
            args.bfcl_ids = str(Path(folder) / "ids.txt")
            Path(args.bfcl_ids).write_text("".join(f"{entry_id}\n" for entry_id in reference.run), encoding="utf-8")
        return run_verb.run(args)
