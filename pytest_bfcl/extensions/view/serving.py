"""Show runs in a browser: all runs, a run in progress, one entry in all runs, two runs compared.

  pytest-bfcl view                   the runs in reports/
  pytest-bfcl view nightly/ old/run1

The command starts a local server (extra `view`) on 127.0.0.1, prints its address with a token, and opens it. The server
reads the named folders only and writes nothing into them. Ctrl-C stops it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.extras import require
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import say

if TYPE_CHECKING:
    import uvicorn

    from pytest_bfcl.extensions.view.auth import Auth
    from pytest_bfcl.extensions.view.store import Store


QUIET_S = 1
"""Seconds for open pages at the end."""
SUMMARY = "show runs in a browser"


def serve(
    folders: list[Path], *, host: str, port: int, data: str | None, board: Path | None, ready: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C; ``ready`` receives the address with the token. Raises `UsageError`."""
    require("view", "looking at runs in a browser")
    import uvicorn

    from pytest_bfcl.extensions.view.app import create_app
    from pytest_bfcl.extensions.view.auth import Auth, new_token
    from pytest_bfcl.extensions.view.frame import Links
    from pytest_bfcl.extensions.view.index import prune
    from pytest_bfcl.extensions.view.store import open_store

    store = open_store(folders, data, board)
    bound = _bound(host, port)
    auth = Auth.at(host, bound.getsockname()[1], new_token())
    app, site = create_app(store, Links(), auth)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=QUIET_S, ws="none", server_header=False)
    server = uvicorn.Server(config)
    stopping = threading.Event()
    prune()
    threading.Thread(target=_warm, args=(store, stopping), name="indexes", daemon=True).start()

    async def run() -> None:
        watching = asyncio.create_task(_watch(server, site.ending))
        ready(address(host, auth))
        await server.serve(sockets=[bound])
        watching.cancel()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run())
    stopping.set()
    bound.close()


async def _watch(server: uvicorn.Server, ending: asyncio.Event) -> None:
    """Tell open event streams that the server stops, because it would wait for them."""
    while not server.should_exit:
        await asyncio.sleep(0.1)
    ending.set()


def _warm(store: Store, stopping: threading.Event) -> None:
    """Index every run once, in the background, so that an entry is found in all of them at once."""
    for listed in store.runs.listed:
        if stopping.wait(0.002):
            return
        with contextlib.suppress(UsageError, OSError):  # its summary says what is wrong with it
            _ = listed.index


def _bound(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `UsageError` if that fails."""
    plain = host.strip("[]")
    both, family = (socket.has_dualstack_ipv6(), socket.AF_INET6) if ":" in plain else (False, socket.AF_INET)
    try:
        return socket.create_server((plain, port), family=family, backlog=128, dualstack_ipv6=both)
    except OSError as error:
        told = str(error.strerror or error).partition(" (while")[0]  # Python adds the address, which is said here
        raise UsageError(f"cannot listen on {host}:{port}: {told} (--port 0 selects a free one)") from None


def address(host: str, auth: Auth) -> str:
    """The address to open, with the token."""
    plain = host.strip("[]")
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(plain, f"[{plain}]" if ":" in plain else plain)
    return f"http://{shown}:{auth.port}/{auth.token}/"


@contextlib.contextmanager
def opening_page(address: str) -> Iterator[Path]:
    """A page with the address that only this user can read; it is removed at the end. The browser is started with the
    page instead of the address, because all users of a machine can read the arguments of every process, and the address
    contains the token.
    """
    with tempfile.TemporaryDirectory(prefix="pytest-bfcl-view-") as folder:  # of mode 700
        page = Path(folder) / "open.html"
        page.touch(mode=0o600)
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">'
            f'<title>pytest-bfcl view</title><a href="{address}">the runs</a>',
            encoding="utf-8",
        )
        yield page


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
