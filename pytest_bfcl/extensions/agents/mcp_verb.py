"""Serve an entry, or one simulated system, to any MCP client (official SDK; extra `mcp`).

  pytest-bfcl mcp --entry multi_turn_base_0 --judge
  pytest-bfcl mcp --entry multi_turn_base_0 --http 8931 --turn-tool --judge
  pytest-bfcl mcp --entry memory_kv_prereq_0-student-0 --memory kept
  pytest-bfcl mcp --entry memory_kv_0-student-0 --memory kept --judge
  pytest-bfcl mcp TradingBot --config start.json

Without --http the server uses standard input and output. The client reads the user's messages with the prompt
`next_user_message`. With --judge the server prints the verdict and the differences to standard error at the end. Exit
code 1 when the entry failed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say
from pytest_bfcl.settings import Settings
from pytest_bfcl.spread_json import json_file

SUMMARY = "serve an entry or a simulated system to MCP clients"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("simulator", nargs="?", metavar="CLASS", help="a simulated system, for instance TradingBot")
    parser.add_argument("--entry", metavar="ID", help="the entry to be played")
    parser.add_argument("--data", default="auto", help="auto, bundled, official or PATH (default: %(default)s)")
    parser.add_argument("--config", metavar="FILE", help="JSON file: the state the simulated system begins in")
    parser.add_argument("--http", type=int, metavar="PORT", help="streamable HTTP on 127.0.0.1; 0 selects a free port")
    parser.add_argument(
        "--turn-tool", action="store_true", help="offer the user's messages as a tool too, for clients without prompts"
    )
    parser.add_argument("--judge", action="store_true", help="print the verdict at the end")
    parser.add_argument("--memory", metavar="DIR",
                        help="folder of the memory that write stages fill and questions read, or a run")  # fmt: skip
    parser.add_argument("--search", default="auto", metavar="SOURCE",
                        help="web search: auto, local, serpapi, replay:RUN (default: %(default)s)")  # fmt: skip
    parser.add_argument("--rules", choices=["official", "corrected"], default="official")


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes, the entry is over, or the process gets a signal to end."""
    if (args.simulator is None) == (args.entry is None):
        raise UsageError("name either a simulated system (for instance TradingBot) or an entry (--entry ID)")
    if args.judge and args.entry is None:
        raise UsageError("--judge needs --entry: a simulated system has no ground truth")
    return asyncio.run(_serve_entry(args) if args.entry else _serve_simulator(args))


async def _serve_entry(args: argparse.Namespace) -> int:
    from pytest_bfcl.extensions.agents.mcp_play import EntryTable, EntryWorld
    from pytest_bfcl.rescoring import open_data

    data = open_data(args.data)
    ref = data.find(args.entry)
    if ref is None:
        raise UsageError(f"the {data.name} data ({data.root}) has no entry {args.entry!r}")
    entry, settings = data.load(ref), Settings(search=args.search)
    with EntryWorld(entry, data, settings, args.memory) as world:
        table = EntryTable(entry, data, settings, snapshots=world.snapshots, search=world.search)
        await _serve(args, table.server(turn_tool=args.turn_tool), table.over)
        verdict, text = table.verdict(args.rules)
    if entry.row.checker == "none":
        kept = f"its memory is kept in {args.memory}" if table.is_complete else "it was not played to its end"
        say(f"{args.entry}: {kept}", file=sys.stderr)
        return 0 if table.is_complete else 1
    if not args.judge:
        return 0
    say(f"{args.entry}: {text}", file=sys.stderr)
    return 0 if verdict.valid else 1


async def _serve_simulator(args: argparse.Namespace) -> int:
    from pytest_bfcl.extensions.agents.mcp_play import simulator_server

    server, _ = simulator_server(args.simulator, _config(args.config))
    await _serve(args, server, asyncio.Event())
    return 0


async def _serve(args: argparse.Namespace, server: Any, over: asyncio.Event) -> None:
    from pytest_bfcl.extensions.agents.mcp_play import serve_http, serve_stdio

    if args.http is None:
        await serve_stdio(server)
    else:
        await serve_http(server, args.http, over, lambda url: say(url, file=sys.stderr, flush=True))


def _config(path: str | None) -> dict[str, Any] | None:
    if path is None:
        return None
    found = json_file(Path(path))
    if not isinstance(found, dict):
        raise UsageError(f"{path} is not a JSON object: the state by attribute")
    return found
