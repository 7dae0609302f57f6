"""Compare runs entry by entry: what improved, what regressed, and whether chance can explain it.

RUN is a run directory, a results.jsonl, verdicts of `pytest-bfcl score`, or an official score/ folder; PATH#MODEL
selects one of several models. The first run is the baseline of all others. The models of one run are compared with
each other. --causes explains why the score changed. Exit code 0; 1 with --fail when there is a significant regression.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

if TYPE_CHECKING:
    from pytest_bfcl.extensions.boards.changed import Source
    from pytest_bfcl.scoring.comparison import Comparison
    from pytest_bfcl.scoring.measurements import Measurement

SUMMARY = "compare two runs, with error bars"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("measurements", nargs="+", metavar="RUN", help="the baseline, then what is compared with it")
    parser.add_argument(
        "--shared", action="store_true", help="also compare runs of different data or rules, on the ids that they share"
    )
    parser.add_argument("--allow-missing", action="store_true", help="compare results with gaps, too")
    parser.add_argument(
        "--rules", choices=("official", "corrected", "verified"), default="official",
        help="verdicts to compare; verified: official rules on the verified data",
    )  # fmt: skip
    parser.add_argument("--fail", action="store_true", help="exit code 1 on a significant regression")
    parser.add_argument("--margin", type=float, default=0.0, metavar="PTS", help="points of loss --fail accepts")
    parser.add_argument("--causes", action="store_true", help="say why the score changed, cause by cause")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write Markdown")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with both answers side by side")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything for programs")
    parser.add_argument("--data", help="data of the runs (default: as recorded in the run; official for score folders)")


def run(args: argparse.Namespace) -> int:
    """Print the comparisons and write the requested files."""
    from pytest_bfcl.extensions.boards.comparison_text import print_comparison

    if not 0 <= args.margin <= 100:
        raise UsageError("--margin: percentage points between 0 and 100")
    compared = _compared(args)
    margin = args.margin / 100
    written = _write_files(args, compared, margin)  # first: a reader like `head` may end the printing
    for each in compared:
        print_comparison(each.comparison, margin)
        if args.causes:
            _print_causes(each, args.data or "auto")
    for path in written:
        say(f"written: {path}")
    lost = any(each.comparison.losses(margin) or not each.comparison.rows for each in compared)
    return 1 if args.fail and lost else 0


def _print_causes(compared: Compared, data: str) -> None:
    from pytest_bfcl.extensions.causes.diagnosis import change_lines
    from pytest_bfcl.extensions.causes.of_runs import of_path, only_one

    models = (compared.comparison.before, compared.comparison.after)
    places = [each.label.partition("#")[0] for each in (compared.before, compared.after)]
    named = [f"{place}#{model}" for place, model in zip(places, models, strict=True)]
    before, after = (only_one(of_path(text, data), text) for text in named)
    for line in change_lines(before, after):
        say(line)


class Compared(NamedTuple):
    """A comparison and its two sides."""

    comparison: Comparison
    before: Measurement
    after: Measurement


def _compared(args: argparse.Namespace) -> list[Compared]:
    from pytest_bfcl.scoring.comparison import compare_measurements, compare_models

    first, *others = [_measurement(text, args) for text in args.measurements]
    if len({os.path.normpath(text) for text in args.measurements}) < len(args.measurements):
        raise UsageError(f"{args.measurements[0]} is compared with itself: name two runs, BEFORE and AFTER")
    if others:
        gaps = args.allow_missing
        return [
            Compared(found, first, other)
            for other in others
            for found in compare_measurements(first, other, args.rules, shared=args.shared, allow_missing=gaps)
        ]
    found = compare_models(first, args.rules, allow_missing=args.allow_missing)
    if not found:
        raise UsageError(f"{first.label} has one model: name another run to compare it with")
    return [Compared(each, first, first) for each in found]


def _measurement(text: str, args: argparse.Namespace) -> Measurement:
    from pytest_bfcl.scoring.measurements import is_score_folder, open_measurement

    root = Path(text.partition("#")[0])
    if not is_score_folder(root):
        return open_measurement(text)
    from pytest_bfcl.rescoring import judged_results, open_data

    data = open_data(args.data or "official")
    return replace(open_measurement(text, data), lines=lambda ids: judged_results(root, data, ids))


def _write_files(args: argparse.Namespace, compared: list[Compared], margin: float) -> list[Path]:
    from pytest_bfcl.cli import write_files
    from pytest_bfcl.extensions.boards.changed import Changed
    from pytest_bfcl.extensions.boards.comparison_text import comparison_html, comparison_markdown

    told = args.markdown is not None or args.html is not None
    changed = [Changed.of(*each, args.rules) for each in compared] if told else []
    return write_files({
        args.markdown: lambda: comparison_markdown(changed, margin),
        args.html: lambda: comparison_html(changed, _entries(args, compared), margin, page=args.html),
        args.json: lambda: json.dumps([each.comparison.to_dict() for each in compared], indent=1) + "\n",
    })  # fmt: skip


def _entries(args: argparse.Namespace, compared: list[Compared]) -> Source:
    """The page's source of questions and expected answers; missing parts are named."""
    from pytest_bfcl.reporting.sources import questions
    from pytest_bfcl.rescoring import open_data

    prints = [m.fingerprint for each in compared for m in (each.before, each.after) if m.fingerprint is not None]
    measured = prints[0].to_dict()["dataset"] if prints else {"name": "official"}
    found = questions(open_data(args.data) if args.data else None, measured)
    if found.missing:
        say(f"pytest-bfcl compare: questions are not shown: {found.missing} (--data names it)", file=sys.stderr)
    return found
