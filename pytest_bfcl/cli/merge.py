"""Join run directories of one measurement: shards, machines, or a run and its continuation elsewhere.

Their fingerprints must agree. Where they overlap a verdict beats an error, and the run named last wins. Write the
parts' folder instead of every part if you like.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("runs", nargs="+", type=Path, help="run directories, or folders holding them")
    parser.add_argument("-o", "--out", required=True, type=Path, metavar="DIR", help="the run directory to create")


def run(args: argparse.Namespace) -> int:
    """Merge, summarise, and say what came out; 1 when lines were damaged."""
    from pytest_bfcl.dataset import known_issues
    from pytest_bfcl.runs import RunDirectory
    from pytest_bfcl.runs.lines import DamagedLine
    from pytest_bfcl.runs.merge import find_runs, merge_runs
    from pytest_bfcl.scoring import summarise

    paths = list(find_runs(args.runs))
    damaged: list[DamagedLine] = []
    merged = merge_runs(paths, args.out, damaged.append)
    summary = summarise(
        merged.records(),
        fingerprint=merged.fingerprint.to_dict(),
        known_issues=known_issues(merged.fingerprint.dataset_version),
    )
    RunDirectory.open(args.out).write_summary(summary)
    for line in damaged:
        print(f"damaged line skipped: {line}", file=sys.stderr)
    print(f"merged {len(paths)} runs into {args.out}")
    print(merged.fingerprint.short())
    for model, numbers in summary["models"].items():
        print(f"{model}: {_counts(numbers)}")
    return 1 if damaged else 0


def _counts(numbers: dict[str, dict[str, dict[str, int]]]) -> str:
    categories = numbers["categories"].values()
    sums = {name: sum(found[name] for found in categories) for name in ("passed", "failed", "errors", "skipped")}
    return ", ".join(f"{count} {name}" for name, count in sums.items())
