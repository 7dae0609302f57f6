"""Check data files before a run: the shape, types and answers of every entry.

For own entries it also proves that the ground truth passes. It warns about entries that are unfair to a model: empty
descriptions, answers outside the enum, values that the request does not contain, tools that cannot be distinguished.

It checks the official set's retired categories only if --categories names them (docs/retired.md lists their flaws).
It prints one line a problem, as FILE:LINE: id: message. Of more than five alike it prints the first, and the lines of
the others. Exit code 1 when there are errors; warnings do not count without --strict.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.plain_text import counted, say
from pytest_bfcl.run_options.values import servers
from pytest_bfcl.settings import Settings

if TYPE_CHECKING:
    from pytest_bfcl.dataset.index import DataProblem
    from pytest_bfcl.dataset.loading import DataSet

MOST = 5
SUMMARY = "check data files before a run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("path", nargs="*", help="a .jsonl of own entries, several of them, or a directory")
    parser.add_argument("--data", help="auto, bundled, official, or a path, in place of PATH (default: auto)")
    parser.add_argument("--categories", metavar="NAMES", help="only these, separated by commas (groups too)")
    parser.add_argument("--simulator", action="append", metavar="MODULE:CLASS",
                        help="a simulator of your own that entries name; repeatable")  # fmt: skip
    add_server_arguments(parser)
    parser.add_argument("--no-proof", action="store_true", help="do not try the ground truth of own entries")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")


def run(args: argparse.Namespace) -> int:
    """Validate and report; 1 if there are errors."""
    from pytest_bfcl.dataset.categories import resolve_categories
    from pytest_bfcl.dataset.opening import open_dataset, open_files
    from pytest_bfcl.extensions.own.validation import validate, validated_categories
    from pytest_bfcl.failures import UsageError
    from pytest_bfcl.simulators import documents_of

    for where in args.simulator or ():
        _register(where)
    if args.path and args.data:
        raise UsageError(f"{args.path[0]} is checked in place of --data {args.data}: name one of them")
    if len(args.path) > 1:
        dataset = open_files(list(map(Path, args.path)), documents_of)
    else:
        dataset = open_dataset(args.path[0] if args.path else args.data or "auto", documents=documents_of)
    chosen = resolve_categories(args.categories.split(",")) if args.categories else None
    problems = validate(dataset, chosen)
    if dataset.own:
        problems += _reviewed(dataset, chosen, problems, None if args.no_proof else server_settings(args))
        files = list(dict.fromkeys(problem.path for problem in problems))
        problems.sort(key=lambda problem: (files.index(problem.path), problem.line))
    for line in _told(problems):
        say(line)
    errors = [problem for problem in problems if problem.severity == "error" or args.strict]
    names = chosen or validated_categories(dataset)
    entries = sum(len(dataset.index(name)) for name in names)
    if unused := dataset.unused_text():
        say(unused, file=sys.stderr)
    unread = sum(problem.message.startswith("reviewed: ") for problem in problems)
    told = f"{counted(entries, 'entry', 'entries')}{f' ({unread} unreviewed)' if unread else ''} in "
    told += f"{counted(len(names), 'category', 'categories')} of the {dataset.name} data: "
    found = f"{counted(len(errors), 'error')}, {counted(len(problems) - len(errors), 'warning')}"
    say(told + (found if problems else "all fine"), file=sys.stderr)
    return 1 if errors else 0


def _told(problems: list[DataProblem]) -> Iterator[str]:
    """A line a problem; of more than `MOST` of one kind in a file the first, and the lines of the others."""
    kinds: dict[tuple[str, ...], list[DataProblem]] = {}
    for problem in problems:
        kinds.setdefault(_kind(problem), []).append(problem)
    for problem in problems:
        alike = kinds[_kind(problem)]
        mark = "" if problem.severity == "error" else " (warning)"
        if len(alike) <= MOST or problem is alike[0]:
            yield f"{problem}{mark}"
        if len(alike) > MOST and problem is alike[0]:
            yield f"{problem.path}: {len(alike) - 1:,} more like this{mark}, in line {_lines_text(alike[1:])}"


def _kind(problem: DataProblem) -> tuple[str, ...]:
    field, _, rest = re.sub(r"\d+", "", problem.message).partition(": ")
    return str(problem.path), problem.severity, field, rest.rpartition(": ")[2]


def _lines_text(problems: list[DataProblem]) -> str:
    """The lines of problems; consecutive ones as a range."""
    numbers = sorted({problem.line for problem in problems})
    runs = [[line for _, line in group] for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _register(where: str) -> None:
    """Register a user's class, as a conftest or an entry point does in a run."""
    from pytest_bfcl.entry_points import named
    from pytest_bfcl.failures import UsageError
    from pytest_bfcl.simulators import register_simulator

    try:
        register_simulator(named(where))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"--simulator {where}: {error} (name it as package.module:Class)") from None


def _reviewed(
    dataset: DataSet, chosen: list[str] | None, known: list[DataProblem], settings: Settings | None
) -> list[DataProblem]:
    """A reviewer's warnings about usable entries, and entries whose own answer does not pass.

    ``settings``: the MCP servers for trying answers; ``None``: no answer is tried.
    """
    from pytest_bfcl.dataset.index import DataProblem
    from pytest_bfcl.extensions.own.own_entry import lint_entry
    from pytest_bfcl.extensions.own.validation import unprovable, validated_categories

    broken = {problem.entry_id for problem in known if problem.severity == "error"}
    names = [name for name in chosen or validated_categories(dataset) if name != "format_sensitivity"]
    refs = [ref for name in names for ref in dataset.index(name) if ref.id not in broken]
    told = [
        DataProblem(ref.path, ref.line, str(finding), ref.id, finding.severity)
        for ref in refs
        for finding in lint_entry(dataset.load(ref))
    ]
    return told + (unprovable(dataset, refs, settings) if settings is not None else [])


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """The option ``--mcp``, as in runs."""
    parser.add_argument("--mcp", action="append", metavar="NAME=WHERE", type=_server, default=[],
                        help="where the MCP server is that entries name, to play them on; NAME.setup=COMMAND and "
                        "NAME.teardown=COMMAND run before and after each trial; repeatable")  # fmt: skip


def server_settings(args: argparse.Namespace) -> Settings:
    """The settings for these plays: on these servers, with searches only in the data's own pages."""
    found = servers(dict(args.mcp))
    return Settings(search="local", mcp=found["mcp"], mcp_setup=found["mcp_setup"], mcp_teardown=found["mcp_teardown"])


def _server(text: str) -> tuple[str, str]:
    from pytest_bfcl.dataset.served_entry import named_server

    try:
        return named_server(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
