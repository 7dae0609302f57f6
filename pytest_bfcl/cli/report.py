"""Write the HTML report of a run again: index.html and the pages of entries.

Use it for a run without a report or without pages (--bfcl-report), for a run of the library, or after an update.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_bfcl.cli import tell_left_out
from pytest_bfcl.plain_text import say

SUMMARY = "write the HTML report of a run again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, help="a run directory")
    parser.add_argument("--data", metavar="PATH", help="data of the run, if they are your own entries")
    parser.add_argument(
        "--level",
        choices=("index", "full"),
        default="full",
        help="index: summary and list; full: also a page for every entry",
    )
    parser.add_argument("--markdown", action="store_true", help="also print the summary as Markdown")


def run(args: argparse.Namespace) -> int:
    """Write the report and print its place; 1 if lines of the results or memories are damaged."""
    from pytest_bfcl.reporting.markdown import write_markdown
    from pytest_bfcl.reporting.report import summary_of, write_report
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.snapshots import damaged_snapshots
    from pytest_bfcl.session.evaluation import open_data

    run = RunDirectory.open(args.run)
    written = write_report(run, data=open_data(args.data) if args.data else None, level=args.level)
    if args.markdown:
        say(write_markdown(summary_of(run)))
    say(written)
    # Pages lack what these hold.
    for damaged in (*run.transcripts.damaged(), *damaged_snapshots(run.path / "snapshots")):
        run.left_out(damaged)
    return 1 if tell_left_out("report", run.left_out) else 0
