"""Options of verbs that play entries: where the MCP servers are that entries name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bfcl.settings import Settings


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """``--mcp``, ``--mcp-setup`` and ``--mcp-teardown``, as runs have them."""
    parser.add_argument("--mcp", action="append", metavar="NAME=WHERE", type=_server, default=[],
                        help="where the MCP server is that entries name, to play them on; repeatable")  # fmt: skip
    for when, told in (("setup", "before"), ("teardown", "after")):
        parser.add_argument(f"--mcp-{when}", action="append", metavar="NAME=COMMAND", type=_server, default=[],
                            help=f"command {told} each trial on that server, in the trial's own directory")  # fmt: skip


def server_settings(args: argparse.Namespace) -> Settings:
    """How entries are played then: on these servers, searching only what the data has."""
    from pytest_bfcl.settings import Settings

    setup, teardown = dict(args.mcp_setup), dict(args.mcp_teardown)
    return Settings(search="local", mcp=dict(args.mcp), mcp_setup=setup, mcp_teardown=teardown)


def _server(text: str) -> tuple[str, str]:
    from pytest_bfcl.dataset.served_entry import named_server

    try:
        return named_server(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
