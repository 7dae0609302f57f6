"""Find out why entries failed: group the failures by cause, and prove each cause by undoing it and judging again.

  pytest-bfcl explain reports/RUN
  pytest-bfcl explain reports/RUN --cause name_prefix > ids.txt
  pytest-bfcl explain reports/RUN --recheck name_prefix --decoder auto
  pytest-bfcl explain replies.jsonl

--recheck sends the entries of a cause again, with data, address and settings of the run. Options of `pytest-bfcl run`
on this command line override them. PATH#MODEL selects one of several models. Exit code 0, also when entries failed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

SUMMARY = "find the causes of failures in a run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    from pytest_bfcl.cli.run import add_run_options

    parser.add_argument("run", metavar="RUN", help="a run directory, a results.jsonl, or a file of replies")
    parser.add_argument("--cause", metavar="CAUSE", help="print the ids of one cause, for --bfcl-ids FILE")
    parser.add_argument(
        "--recheck", metavar="CAUSE", help="send the entries of one cause again, with the run's settings"
    )
    parser.add_argument("--no-stream", action="store_true", help="send them without streaming, though the run streamed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything for programs")
    add_run_options(parser, shown=False)


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis, or the ids of one cause, or send its entries again."""
    from pytest_bfcl.cli import write_file
    from pytest_bfcl.extensions.causes.of_runs import of_path, only_one

    data = str(getattr(args, "bfcl_data", "auto"))
    mode = getattr(args, "bfcl_mode", None)
    found = of_path(args.run, data, mode if mode in ("fc", "prompt") else "")
    if args.json is not None:
        write_file(args.json, json.dumps([each.to_json() for each in found], indent=1) + "\n")
    if args.recheck:
        from pytest_bfcl.extensions.causes.recheck import recheck

        return recheck(args, only_one(found, args.run))
    if args.cause:
        known = [row for each in found for row in each.rows]
        for row in known:
            if row.name == args.cause:
                say("\n".join(row.ids))
        if all(row.name != args.cause for row in known):
            names = ", ".join(row.name for row in known) or "none"
            raise UsageError(f"{args.run} has no cause {args.cause!r}; its causes: {names}")
        return 0
    for each in found:
        for line in each.lines(args.run, data):
            say(line)
    return 0
