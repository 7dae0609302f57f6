"""Join run directories of one measurement: its shards, or a run and its continuation on another machine.

Data, models, parameters, rules, repeats, seed and the whole selection must be equal. If two runs contain the same
entry, a verdict replaces an error, and otherwise the run named last counts. You can name the folder of all parts.

Exit code 0: the parts are complete; 1: they differ (nothing is merged), or one is missing (no score is claimed).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.cli import tell_left_out
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

if TYPE_CHECKING:
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.summary_types import ModelSummary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("runs", nargs="+", type=Path, help="run directories, or folders holding them")
    parser.add_argument("-o", "--out", required=True, type=Path, metavar="DIR", help="the run directory to create")
    parser.add_argument("--data", metavar="PATH", help="data of the runs, if they are your own entries")
    parser.add_argument(
        "--max-errors",
        type=float,
        default=2.0,
        metavar="PCT",
        help="accepted errors in percent of the entries; beyond it no score is claimed",
    )


def run(args: argparse.Namespace) -> int:
    """Merge, summarise and print the result; 1 if parts do not fit, are missing or damaged."""
    from pytest_bfcl.dataset.verified import known_issues
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.lines import LeftOut
    from pytest_bfcl.runs.merge import UnfitError, find_runs, merge_runs
    from pytest_bfcl.scoring.summary import summarise

    paths = list(find_runs(args.runs))
    damaged = LeftOut()
    try:
        merged = merge_runs(paths, args.out, damaged)
    except UnfitError as error:
        say(f"pytest-bfcl merge: {error}", file=sys.stderr)
        return 1
    summary = summarise(
        merged.records(),
        fingerprint=merged.fingerprint.to_dict(),
        known_issues=known_issues(merged.fingerprint.dataset_version),
        sizes=_sizes(merged),
        full_sizes=_full_sizes(merged.fingerprint, args.data),
        max_errors_pct=args.max_errors,
    )
    RunDirectory.open(args.out).write_summary(summary)
    tell_left_out("merge", damaged)
    say(f"merged {len(paths)} runs into {args.out}")
    say(merged.fingerprint.short())
    for model, numbers in summary["models"].items():
        say(f"{model}: {_counts(numbers)}")
    lacking = merged.fingerprint.state.removeprefix("stopped:") if merged.fingerprint.state != "finished" else ""
    if lacking:
        say(f"pytest-bfcl merge: not complete, no score is claimed: {lacking}", file=sys.stderr)
    return 1 if damaged or lacking else 0


def _sizes(merged: RunDirectory) -> dict[str, int]:
    """Entries per category that the runs contained."""
    from pytest_bfcl.dataset.categories import CATEGORIES
    from pytest_bfcl.scoring.summary import plain_records

    found = {(str(record["id"]), str(record["category"])) for record in plain_records(merged)}
    counts = Counter(category for _, category in found)
    return {name: count for name, count in counts.items() if CATEGORIES[name].checker != "none"}


def _full_sizes(fingerprint: Fingerprint, data: str | None) -> dict[str, int] | None:
    """Entries per category of the whole data set, if it is available."""
    from pytest_bfcl.scoring.summary import full_sizes
    from pytest_bfcl.session.evaluation import open_data

    if data is None and fingerprint.dataset != "bundled":
        return None
    dataset = open_data(data or "bundled")
    if dataset.sha256 == fingerprint.dataset_sha256:
        return full_sizes(dataset)
    if data is None:
        return None
    raise UsageError(f"--data {data} is not the data of these runs (SHA-256 {dataset.sha256[:12]} …)")


def _counts(numbers: ModelSummary) -> str:
    categories = numbers["categories"].values()
    sums = Counter[str]()
    for found in categories:
        sums.update(passed=found["passed"], failed=found["failed"], errors=found["errors"], skipped=found["skipped"])
    return ", ".join(f"{sums[name]} {name}" for name in ("passed", "failed", "errors", "skipped"))
