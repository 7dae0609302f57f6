"""Generate training tasks with a proved answer: a start state, calls that use each other's results, and a request.

  pytest-bfcl new tasks --simulators TradingBot,TravelAPI --n 1000 --seed 7 -o tasks
  pytest-bfcl new tasks --n 10000 --seed 7 -o tasks --processes auto
  pytest-bfcl new tasks --from-openapi petstore.yaml --n 200 --seed 7 -o tasks
  pytest-bfcl new tasks --n 500 --seed 7 -o tasks --model openai:gpt-4o-mini   # this model rephrases the requests

The same options give the same bytes, with any number of processes. If the command is stopped, the same command resumes
it. Run the folder like other data: `pytest --model … --bfcl-data tasks`. `--bfcl-ids tasks/curriculum.txt` orders the
tasks from easy to hard.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from itertools import islice
from pathlib import Path

from pytest_bfcl.extensions.training.processes import processes
from pytest_bfcl.failures import UsageError, instead_of
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import say

SUMMARY = "generate training tasks with proved answers"
ALL = "all"
EVERY_S = 5.0
"""Seconds between two progress messages."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    from pytest_bfcl.extensions.own.new_verb import add_sources

    add_sources(parser, required=False).add_argument(
        "--simulators", default=ALL, metavar="NAMES", help="classes separated by commas (default: %(default)s)"
    )
    parser.add_argument("--n", type=_count, required=True, metavar="N", help="how many tasks")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives another set (default: %(default)s)")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="a new folder, or one that is not finished"
    )
    parser.add_argument("--model", metavar="SPEC", help="put requests into this model's words; replies are recorded")
    parser.add_argument("--base-url", metavar="URL", help="where that model is, for providers that need it")
    parser.add_argument("--processes", type=processes, default=1, metavar="N", help="number of processes, or auto")


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tasks from 1 to 1000000")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Make, write and count."""
    from pytest_bfcl.extensions.training.generating.folder import RECORD, Folder, table
    from pytest_bfcl.extensions.training.generating.making import Recipe, filled_places
    from pytest_bfcl.extensions.training.generating.proof import why_unchecked
    from pytest_bfcl.extensions.training.generating.rewording import BATCH, Rewording
    from pytest_bfcl.settings import Settings

    unchecked = why_unchecked()
    tools = _tools(args)
    names = () if tools else _simulators(args.simulators)
    recipe = Recipe(args.seed, names, tools, unchecked is None)
    told: Parsed = {"seed": args.seed, "from": list(names) or sorted({str(tool["name"]) for tool in tools})}
    told["official"] = "none is near the official set" if unchecked is None else f"not checked: {unchecked}"
    begun = {**told, "n": args.n, "model": args.model, "tools": hashlib.sha256(repr(tools).encode()).hexdigest()}
    folder = Folder(args.output, begun)
    if folder.done:
        say(f"resumed after {folder.done} of {args.n} tasks in {args.output}")
    settings = Settings(base_url=args.base_url)
    words = Rewording(args.model, settings, args.output / RECORD, recipe) if args.model else None
    progress = _Progress(args.n, folder.done)
    tasks = filled_places(recipe, folder.done, args.n, args.processes, folder.asked)
    try:
        while batch := list(islice(tasks, BATCH if words else 1)):
            for task in words.put(batch) if words else batch:
                folder.write(task)
            progress.say(folder.done)
    finally:
        folder.close()
    if words:
        kept = f"{words.kept} keep ours, since theirs do not hold"
        say(f"in the words of {words.model}: {words.taken} tasks; {kept}")
        told["words"] = words.told()
    for line in table(folder.finish(told)):
        say(line)
    say(f"the official set: {told['official']}")
    say(f"written: {folder.done} tasks in {args.output}; run them with --bfcl-data {args.output}")
    return 0


class _Progress:
    """Progress and rate, at intervals."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._first = total, done
        self._began = self._said = time.monotonic()

    def say(self, done: int) -> None:
        now = time.monotonic()
        if now - self._said >= EVERY_S:
            self._said = now
            rate = (done - self._first) / (now - self._began)
            left = (self._total - done) / rate / 60
            say(f"{done:,} of {self._total:,} tasks, {rate:.1f} a second, {left:.1f} minutes to go")


def _tools(args: argparse.Namespace) -> tuple[Parsed, ...]:
    from pytest_bfcl.extensions.own.new_verb import chosen_functions
    from pytest_bfcl.extensions.own.openapi import EXAMPLES
    from pytest_bfcl.tools.documents import as_document
    from pytest_bfcl.tools.json_schema import is_native

    if not any((args.from_openapi, args.from_mcp, args.from_python, args.from_json)):
        if args.tool:
            raise UsageError("--tool chooses among the tools of a --from-… option: name one")
        return ()
    found = [{key: each[key] for key in each if key != EXAMPLES} for each in chosen_functions(args)]
    return tuple(as_document({**each, "dialect": None}) if is_native(each) else each for each in found)


def _simulators(text: str) -> tuple[str, ...]:
    from pytest_bfcl.extensions.training.generating.domains import DOMAINS

    names = list(DOMAINS) if text == ALL else [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in DOMAINS:
            raise UsageError(f"no tasks are made of {name!r}; {instead_of(name, list(DOMAINS))}")
    if not names:
        raise UsageError(f"--simulators names classes: {', '.join(DOMAINS)}")
    return tuple(dict.fromkeys(names))
