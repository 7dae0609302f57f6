"""Draft an own entry from your tools. You then fill in the request and the answer.

  pytest-bfcl new entry --from-openapi petstore.yaml --tool findPets >> mytools.jsonl
  pytest-bfcl new entry --from-mcp "python my_server.py"
  pytest-bfcl new entry --from-python shop.api:find_order,cancel_order

The entry is marked as not reviewed. `pytest-bfcl validate FILE` lists what is missing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_bfcl.cli import write_file
from pytest_bfcl.failures import UsageError, instead_of
from pytest_bfcl.plain_text import say_data

NEIGHBOURS = 3
SUMMARY = "draft own entries from your tools"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    from pytest_bfcl.extensions.own.skeletons import KINDS

    parser.add_argument("what", choices=["entry"], help="what to begin")
    add_sources(parser, required=True)
    parser.add_argument("--kind", choices=KINDS, help="default: simple for one tool, multiple for several")
    parser.add_argument("--each", action="store_true", help="one entry for each tool")
    parser.add_argument("--neighbours", type=_count, metavar="N",
                        help="with --each: offer the N tools nearest to it by their words, too; of --kind irrelevance "
                        "only them (default: 3, of --kind simple 0)")  # fmt: skip
    parser.add_argument("--request", default="", metavar="TEXT", help="text of the request (default: a TODO)")
    parser.add_argument("--id", default="own_0", help="id of the entry (default: %(default)s; with --each the prefix)")
    parser.add_argument("-o", "--output", metavar="FILE", help="append to this file instead of printing")


def add_sources(parser: argparse.ArgumentParser, *, required: bool) -> argparse._MutuallyExclusiveGroup:
    """Add the options for the source of tools; returns the group, of which one is required."""
    source = parser.add_mutually_exclusive_group(required=required)
    source.add_argument("--from-openapi", metavar="FILE", help="an OpenAPI document: one tool an operation")
    source.add_argument("--from-mcp", metavar="COMMAND_OR_URL", help="an MCP server: the tools it lists")
    source.add_argument("--from-python", metavar="MODULE:FUNCTION", help="Python functions: signature and docstring")
    source.add_argument("--from-json", metavar="FILE", help="tools of any provider's shape")
    parser.add_argument("--tool", action="append", metavar="NAME", help="only this tool; repeatable")
    return source


def _count(text: str) -> int:
    if not text.isdigit() or int(text) > 100:
        raise argparse.ArgumentTypeError("a number of tools from 0 to 100")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Print or append the entries."""
    from pytest_bfcl.extensions.own.skeletons import Neighbours, line_of, skeleton

    functions = chosen_functions(args)
    if args.each:
        prefix = args.id.removesuffix("_0")
        near = Neighbours(functions)
        count = args.neighbours if args.neighbours is not None else 0 if args.kind == "simple" else NEIGHBOURS
        made = [
            skeleton([each], f"{prefix}_{n}", args.kind, args.request, near.of(n, count))
            for n, each in enumerate(functions)
        ]
    else:
        made = [skeleton(functions, args.id, args.kind, args.request)]
    text = "".join(line_of(entry) + "\n" for entry in made)
    if args.output:
        write_file(Path(args.output), text, append=True)
    else:
        say_data(text)
    return 0


def chosen_functions(args: argparse.Namespace) -> list[dict[str, object]]:
    """The tools that the arguments of `add_sources` name. Raises `UsageError`."""
    functions = _functions(args)
    if not args.tool:
        return functions
    by_name = {str(function["name"]): function for function in functions}
    if missing := [name for name in args.tool if name not in by_name]:
        raise UsageError(f"no tool {missing[0]!r}; {instead_of(missing[0], by_name)}")
    return [by_name[name] for name in args.tool]


def _functions(args: argparse.Namespace) -> list[dict[str, object]]:
    from pytest_bfcl.extensions.own.sources import functions_in_json

    if args.from_openapi:
        from pytest_bfcl.extensions.own.openapi import documents_of_openapi

        return documents_of_openapi(args.from_openapi)
    if args.from_mcp:
        from pytest_bfcl.extensions.agents.mcp_tools import documents_of_server

        return documents_of_server(args.from_mcp)
    if args.from_python:
        from pytest_bfcl.extensions.own.sources import functions_at

        return functions_at(args.from_python)
    return functions_in_json(Path(args.from_json))
