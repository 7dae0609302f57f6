"""Make tasks to train on: worlds, calls that feed each other, and requests, each one proved.

  pytest-bfcl new tasks --simulators TradingBot,TravelAPI --n 1000 --seed 7 -o tasks
  pytest-bfcl new tasks --n 10000 --seed 7 -o tasks --processes auto
  pytest-bfcl new tasks --from-openapi petstore.yaml --n 200 --seed 7 -o tasks
  pytest-bfcl new tasks --n 500 --seed 7 -o tasks --model openai:gpt-4o-mini   # requests in its words, recorded

The same options give the same bytes, with any number of processes. The folder is data like any other:
`pytest --model … --bfcl-data tasks`, `--bfcl-ids tasks/curriculum.txt` for the order from easy to hard.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.printed import say

SUMMARY = "make proved tasks to train on, from simulators or tools of your own"
ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    from pytest_bfcl.extensions.own.new_verb import add_sources

    add_sources(parser, required=False).add_argument(
        "--simulators", default=ALL, metavar="NAMES", help="classes separated by commas (default: %(default)s)"
    )
    parser.add_argument("--n", type=_count, required=True, metavar="N", help="how many tasks")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives another set (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="a new folder")
    parser.add_argument("--model", metavar="SPEC", help="put requests into this model's words; replies are recorded")
    parser.add_argument("--base-url", metavar="URL", help="where that model is, for providers that need it")
    parser.add_argument("--processes", type=_processes, default=1, metavar="N", help="make in so many, or auto")


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tasks from 1 to 1000000")
    return int(text)


def _processes(text: str) -> int:
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of processes nor auto")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Make, write and count."""
    from pytest_bfcl.extensions.training.generating.folder import check_place, counts, table, write
    from pytest_bfcl.extensions.training.generating.making import Recipe, filled_places
    from pytest_bfcl.extensions.training.generating.official import why_unchecked

    check_place(args.output)
    unchecked = why_unchecked()
    tools = _tools(args)
    names = () if tools else _simulators(args.simulators)
    recipe = Recipe(args.seed, names, tools, unchecked is None)
    places = list(filled_places(recipe, args.n, args.processes))
    told: Parsed = {"seed": args.seed, "from": list(names) or sorted({str(tool["name"]) for tool in tools})}
    told["official"] = "none is near the official set" if unchecked is None else f"not checked: {unchecked}"
    tasks = [place.task for place in places]
    if args.model:
        tasks = _in_its_words(args, tasks, recipe, told)
    told["kinds"] = counts(places)
    write(args.output, tasks, told)
    for line in table(told["kinds"]):
        say(line)
    say(f"the official set: {told['official']}")
    say(f"written: {len(tasks)} tasks in {args.output}; run them with --bfcl-data {args.output}")
    return 0


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
    from pytest_bfcl.suggestions import instead_of

    names = list(DOMAINS) if text == ALL else [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in DOMAINS:
            raise UsageError(f"no tasks are made of {name!r}; {instead_of(name, list(DOMAINS))}")
    if not names:
        raise UsageError(f"--simulators names classes: {', '.join(DOMAINS)}")
    return tuple(dict.fromkeys(names))


def _in_its_words(args: argparse.Namespace, tasks: list, recipe: object, told: Parsed) -> list:  # type: ignore[type-arg]
    from pytest_bfcl.extensions.training.generating.folder import RECORD
    from pytest_bfcl.extensions.training.generating.rewording import reworded
    from pytest_bfcl.settings import Settings

    settings = Settings(**({"base_url": args.base_url} if args.base_url else {}))
    found = reworded(tasks, args.model, settings, args.output / RECORD, recipe)  # type: ignore[arg-type]
    told["words"] = {"model": args.model, "reworded": found.taken, "kept": found.refused}
    say(f"in the words of {args.model}: {found.taken} tasks; {found.refused} keep ours, since theirs do not hold")
    return found.tasks
