"""Options of verbs that play entries: where the MCP servers are that entries name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pytest_bfcl.run_options.values import servers

if TYPE_CHECKING:
    from pytest_bfcl.settings import Settings


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """``--mcp``, as runs have it."""
    parser.add_argument("--mcp", action="append", metavar="NAME=WHERE", type=_server, default=[],
                        help="where the MCP server is that entries name, to play them on; NAME.setup=COMMAND and "
                        "NAME.teardown=COMMAND run before and after each trial; repeatable")  # fmt: skip


def server_settings(args: argparse.Namespace) -> Settings:
    """How entries are played then: on these servers, searching only what the data has."""
    from pytest_bfcl.settings import Settings

    found = servers(dict(args.mcp))
    return Settings(search="local", mcp=found["mcp"], mcp_setup=found["mcp_setup"], mcp_teardown=found["mcp_teardown"])


def _server(text: str) -> tuple[str, str]:
    from pytest_bfcl.dataset.served_entry import named_server

    try:
        return named_server(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
