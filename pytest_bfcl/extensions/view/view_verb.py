"""Show runs in a browser: all runs, a run in progress, one entry in all runs, two runs compared.

  pytest-bfcl view                   the runs in reports/
  pytest-bfcl view nightly/ old/run1

The command starts a local server (extra `view`) on 127.0.0.1, prints its address with a token, and opens it. The server
reads the named folders only and writes nothing into them. Ctrl-C stops it.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

SUMMARY = "show runs in a browser"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER",
                        help="run directories, or folders holding them (default: reports)")  # fmt: skip
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="0 selects a free port (default)")
    parser.add_argument("--no-open", action="store_true", help="print the address, open no browser")
    parser.add_argument("--data", metavar="PATH", help="data of the runs, if they are your own entries")
    parser.add_argument("--board", type=Path, metavar="FILE.csv", help="show the rows of a published data_overall.csv")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from pytest_bfcl.extensions.view.serving import opening_page, serve

    if not 0 <= args.port <= 65535:
        raise UsageError(f"--port {args.port}: a number from 0 to 65535")
    folders = args.folders or [Path("reports")]

    def ready(address: str) -> None:
        say(f"runs are at {address}\nCtrl-C stops", flush=True)
        if not args.no_open:
            import webbrowser

            page = written.enter_context(opening_page(address))
            with contextlib.suppress(Exception):
                webbrowser.open(page.as_uri())

    with contextlib.ExitStack() as written:
        serve(folders, host=args.host, port=args.port, data=args.data, board=args.board, ready=ready)
    say("stopped", file=sys.stderr)
    return 0
