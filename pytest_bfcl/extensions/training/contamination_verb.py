"""Search training data for a benchmark's questions, calls, tools and results.

  pytest-bfcl validate training train.jsonl --against official
  pytest-bfcl validate training data/ more.parquet --against mine.jsonl --mark contaminated.split.json

TRAIN is JSON lines, JSON, Parquet or Arrow files, or folders of them (saved Hugging Face data sets), with any columns.
The texts are compared, so other names of data sets or columns do not matter. Exit code 0 when no entry's question or
calls are found, 1 when some are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_bfcl.cli import write_file
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

SUMMARY = "search training data for a benchmark's entries"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("train", nargs="+", type=Path, metavar="TRAIN", help="training data: files or folders")
    parser.add_argument("--against", default="official", metavar="DATA", help="the benchmark (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every finding for programs")
    parser.add_argument(
        "--mark", type=Path, metavar="FILE",
        help="write what is contaminated, for --bfcl-split trained-on=FILE: marks such lines, claims no overall",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Print the findings; 1 if there are any."""
    from pytest_bfcl.extensions.training.contamination import Benchmark, Report
    from pytest_bfcl.extensions.training.training_rows import files_of, rows_of
    from pytest_bfcl.session.evaluation import open_data

    files = [file for path in args.train for file in files_of(path)]
    if args.mark is not None and args.mark.exists():
        raise UsageError(f"{args.mark} is there already: take another name, or delete it")
    data = open_data(args.against)
    benchmark = Benchmark(data)
    report = Report(benchmark.entries)
    for file in files:
        for row in rows_of(file):
            report.take(benchmark.findings_in(row))
    for line in report.lines():
        say(line)
    if args.json is not None:
        write_file(args.json, json.dumps(report.to_json(), indent=1) + "\n")
    split = report.as_split(data) if args.mark is not None else None
    if split is not None:
        split.write(args.mark)
        say(f"written: {args.mark}; run models trained on these rows with --bfcl-split trained-on={args.mark}")
    return 1 if report.contaminated() else 0
