"""Rank runs on one static page, and write the six leaderboard CSV files.

Every rank has its interval. A difference within the noise is a tie. The page shows which entries decide between two
neighbours.

All runs must have measured the same data by the same rules. --official uses the reference's arithmetic: errors count
as answers, and categories that were not run as zero.

--history shows the runs over time instead: one line for each score with its interval, as history.html, history.csv
and text. Runs are sorted by their start and named after their folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

SUMMARY = "rank runs in one table"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("runs", nargs="+", type=Path, help="run directories, or folders holding them")
    parser.add_argument("-o", "--out", required=True, type=Path, metavar="DIR", help="where to write")
    parser.add_argument("--allow-missing", action="store_true", help="rank results with gaps, too")
    parser.add_argument(
        "--shared", action="store_true", help="accept runs of different entries; rank on the entries that all share"
    )
    parser.add_argument("--official", action="store_true", help="the reference's arithmetic and CSV format")
    parser.add_argument("--history", action="store_true", help="scores over dated runs instead of a ranking")
    parser.add_argument("--board", type=Path, metavar="FILE.csv", help="show the rows of a published data_overall.csv")
    parser.add_argument("--model-info", type=Path, metavar="FILE", help="TOML: display name, link, licence, prices")


def run(args: argparse.Namespace) -> int:
    """Write the board and print its place."""
    from pytest_bfcl.cli import tell_left_out
    from pytest_bfcl.extensions.boards.leaderboard_page import write_leaderboard
    from pytest_bfcl.extensions.boards.published import read_board
    from pytest_bfcl.runs.directory import RunDirectory, is_run
    from pytest_bfcl.runs.merge import find_runs
    from pytest_bfcl.scoring.model_info import read_model_info

    if is_run(args.out):
        raise UsageError(f"{args.out} is a run directory: the board would replace its report; name another folder")
    if args.history:
        return _history(args)
    infos = read_model_info(args.model_info) if args.model_info else {}
    runs = [RunDirectory.open(path) for path in find_runs(args.runs)]
    page, *files = write_leaderboard(
        runs, args.out, official=args.official, infos=infos, allow_missing=args.allow_missing, shared=args.shared,
        tell=say, board=read_board(args.board) if args.board else None,
    )  # fmt: skip
    tell_left_out("leaderboard", *(run.left_out for run in runs))
    say(f"{page} and {len(files)} CSV files")
    return 0


def _history(args: argparse.Namespace) -> int:
    """The runs over time; unreadable ones are named and left out."""
    from pytest_bfcl.extensions.boards.dated_runs import print_histories, read_histories, write_histories
    from pytest_bfcl.runs.merge import find_runs

    if args.official or args.model_info or args.board:
        raise UsageError("--history shows what runs scored: --official, --model-info and --board are for the ranking")
    found = read_histories(find_runs(args.runs), allow_missing=args.allow_missing)
    written = write_histories(found, args.out)  # first: a reader like `head` may end the printing
    print_histories(found)
    say(f"{' and '.join(str(path) for path in written)}")
    return 0
