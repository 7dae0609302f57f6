"""Check data files before a run: every entry's shape, types and answers.

The official set's retired categories are looked at when --categories names them (docs/retired.md lists their flaws).
Prints one line a problem, as FILE:LINE: id: message. Exit code 1 when there are errors; warnings are told only.
"""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("path", nargs="?", help="a .jsonl of own entries, or a directory")
    parser.add_argument("--data", default="auto", help="auto, bundled, official, or a path (default: %(default)s)")
    parser.add_argument("--categories", metavar="NAMES", help="only these, separated by commas (groups too)")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")


def run(args: argparse.Namespace) -> int:
    """Validate and report; 1 when something is wrong."""
    from pytest_bfcl.dataset import open_dataset, resolve_categories
    from pytest_bfcl.dataset.validation import validate, validated_categories
    from pytest_bfcl.simulators import documents_of

    dataset = open_dataset(args.path or args.data, documents=documents_of)
    chosen = resolve_categories(args.categories.split(",")) if args.categories else None
    problems = validate(dataset, chosen)
    for problem in problems:
        print(problem if problem.severity == "error" else f"{problem} (warning)")
    errors = [problem for problem in problems if problem.severity == "error" or args.strict]
    names = chosen or validated_categories(dataset)
    entries = sum(len(dataset.index(name)) for name in names)
    told = f"{entries} entries in {len(names)} categories of the {dataset.name} data: "
    print(told + (f"{len(errors)} errors, {len(problems) - len(errors)} warnings" if problems else "all fine"),
          file=sys.stderr)  # fmt: skip
    return 1 if errors else 0
