"""Write the pages of `pytest-bfcl view` as files, for a CI artefact or a web site. They also open from disk.

  pytest-bfcl view site runs/* -o public/bfcl

The site has runs, reports, every entry with all answers, comparisons, leaderboard, history, stability and findings.
Lists and comparisons need no script. Exit code 1 when a run could not be shown.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import redrawn, say

SUMMARY = "write the pages of view as files"
EVERY_S = 2.0
"""Without a terminal, progress is printed at most this often."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories, or folders holding them")
    parser.add_argument("-o", "--out", required=True, type=Path, metavar="DIR", help="where to write")
    parser.add_argument("--data", metavar="PATH", help="the data set of the runs, when it is your own")
    parser.add_argument("--board", type=Path, metavar="FILE.csv", help="show the rows of a published data_overall.csv")


class Progress:
    """Reports on standard error what is being written: in one line on a terminal, else a line at intervals."""

    def __init__(self) -> None:
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._said = time.monotonic()

    def __call__(self, text: str) -> None:
        """What comes next."""
        if self._terminal:
            redrawn(text, sys.stderr)
        elif time.monotonic() - self._said >= EVERY_S:
            self._said = time.monotonic()
            say(f"pytest-bfcl view site: {text}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the terminal's line."""
        if self._terminal:
            redrawn("", sys.stderr)


def run(args: argparse.Namespace) -> int:
    """Write the site and print its place."""
    from pytest_bfcl.extensions.view.site import write_site
    from pytest_bfcl.extensions.view.store import open_store

    progress = Progress()
    progress("reading runs")
    store = open_store(args.runs, args.data, args.board)
    summaries, refused = store.summaries()
    if not summaries:
        told = f": {refused[0].path}: {refused[0].why}" if refused else ""
        raise UsageError(f"there is no run to show{told}")

    page = write_site(store, args.out, progress)
    progress.end()
    for each in refused:
        say(f"pytest-bfcl view site: not shown: {each.path}: {each.why}", file=sys.stderr)
    say(page)
    return 1 if refused else 0
