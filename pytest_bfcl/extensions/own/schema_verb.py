"""Print a JSON Schema for editors and programs: of own entries, of results.jsonl, or of a run's events."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_bfcl.cli import write_file
from pytest_bfcl.plain_text import say_data

SUMMARY = "print the JSON Schema of entries, results or events"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("what", nargs="?", choices=("entry", "result", "event"), default="entry",
                        help="an entry of your own (default), a result, or an event of a run")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of printing")


def run(args: argparse.Namespace) -> int:
    """Print or write the schema."""
    if args.what == "result":
        from pytest_bfcl.runs.result_line import result_line_schema as json_schema
    elif args.what == "event":
        from pytest_bfcl.session.sinks import event_schema as json_schema
    else:
        from pytest_bfcl.extensions.own.own_entry import json_schema

    text = json.dumps(json_schema(), indent=2) + "\n"
    if args.output:
        write_file(Path(args.output), text)
    else:
        say_data(text)
    return 0
