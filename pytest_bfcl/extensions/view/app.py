"""The local server's application: addresses and their pages. It writes nothing and reads nothing else. Pages are made
in threads; a page that fails shows the error.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pytest_bfcl.extensions.view import frame
from pytest_bfcl.extensions.view.auth import Auth, Guard
from pytest_bfcl.extensions.view.index import StaleIndexError
from pytest_bfcl.extensions.view.live import LiveFigures, LiveRun
from pytest_bfcl.extensions.view.overview_pages import OverviewPages
from pytest_bfcl.extensions.view.pages import Missing, Pages
from pytest_bfcl.extensions.view.runs import ListedRun
from pytest_bfcl.extras import install_command, naming
from pytest_bfcl.failures import BenchmarkError, UsageError

with naming("looking at runs", install_command("view")):
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
    from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from pytest_bfcl.extensions.view.frame import Links
    from pytest_bfcl.extensions.view.store import Store

MEDIA = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
LIVE_PARTS = "live_parts.html.jinja"
MOST_WATCHERS = 20
"""Live pages open at a time; more are refused, so that they cannot slow a run down."""


class Site:
    """The handlers. ``ending`` is set when the server stops, which ends open event streams."""

    def __init__(self, store: Store, links: Links) -> None:
        self.store = store
        self.links = links
        self.pages = Pages(store, links)
        self.overviews = OverviewPages(store, links)
        self.ending = asyncio.Event()
        self._watchers = 0

    def routes(self) -> list[Route]:
        """Address → handler."""
        simple: dict[str, Callable[[Request], bytes]] = {
            "/": lambda request: self.pages.runs(),
            "/index.html": lambda request: self.pages.runs(),
            "/run/{run}/": lambda request: self.pages.run(self._run(request)),
            "/run/{run}/index.html": lambda request: self.pages.run(self._run(request)),
            "/run/{run}/entries/{page}": self._entry,
            "/run/{run}/live.html": lambda request: self.overviews.live_page(self._run(request)),
            "/run/{run}/wire.html": lambda request: self.overviews.wire(self._run(request)),
            "/entry/{page}": self._beside,
            "/compare/index.html": lambda request: self.pages.choose(),
            "/compare/{before}/{after}": self._compare,
            "/leaderboard.html": lambda request: self.overviews.leaderboard(_query_value(request, "data")),
            "/history.html": lambda request: self.overviews.history(_query_value(request, "data")),
            "/stability.html": lambda request: self.overviews.stability(
                _query_value(request, "model"), _query_value(request, "data")
            ),
            "/findings.html": lambda request: self.overviews.findings(),
            "/audit/{audit}": self._audit,
        }
        made = [Route(path, self._page(handler), methods=["GET"]) for path, handler in simple.items()]
        made.append(Route("/assets/{name}", self._asset, methods=["GET"]))
        made.append(Route("/run/{run}/events", self._events, methods=["GET"]))
        return made

    def _run(self, request: Request, name: str = "run") -> ListedRun:
        found = self.store.runs.get(_part(request, name))
        if found is None:
            raise Missing(f"there is no run {_part(request, name)!r} in the folders that were named")
        return found

    def _entry(self, request: Request) -> bytes:
        return self.pages.entry(self._run(request), _part(request, "page"), _query_value(request, "against"))

    def _beside(self, request: Request) -> bytes:
        runs = [unquote(name) for name in request.url.query.removeprefix("runs=").split(",") if name]
        known = [name for name in runs if self.store.runs.get(name) is not None]
        return self.pages.beside(_stem(request, "page"), known)

    def _audit(self, request: Request) -> bytes:
        name = _stem(request, "audit")
        self.store.runs.look()
        found = next((audit for audit in self.store.runs.audits if audit.name == name), None)
        if found is None:
            raise Missing(f"there is no audit {name!r} in the folders that were named")
        return self.overviews.audit(found)

    def _compare(self, request: Request) -> bytes:
        after = self.store.runs.get(_stem(request, "after"))
        if after is None:
            raise Missing(f"there is no run {_stem(request, 'after')!r}")
        rules = _query_value(request, "rules") or "official"
        if rules not in ("official", "corrected", "verified"):
            raise Missing(f"there are no {rules} rules")
        return self.pages.compare(self._run(request, "before"), after, rules)

    def _page(self, make: Callable[[Request], bytes]) -> Callable[[Request], object]:
        async def handler(request: Request) -> Response:
            return await run_in_threadpool(self._answered, make, request)

        return handler

    def _answered(self, make: Callable[[Request], bytes], request: Request) -> Response:
        place = "x/" * (len(PurePosixPath(request.url.path).parts) - 2) + "x.html"
        try:
            try:
                return HTMLResponse(make(request))
            except StaleIndexError:  # the files were changed between two looks: look again
                return HTMLResponse(make(request))
        except Missing as error:
            return HTMLResponse(self.pages.problem("There is no such page", str(error), place), 404)
        except (BenchmarkError, UsageError, StaleIndexError) as error:
            return HTMLResponse(self.pages.problem("This cannot be shown", str(error), place), 409)
        except OSError as error:
            told = f"{error.filename or 'a file'}: {error.strerror or error}"
            return HTMLResponse(self.pages.problem("A file cannot be read", told, place), 409)

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        text = frame.asset(name)
        if text is None:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(text, media_type=MEDIA[name.rpartition(".")[2]])

    async def _events(self, request: Request) -> Response:
        listed = self.store.runs.get(_part(request, "run"))
        if listed is None:
            return PlainTextResponse("there is no such run\n", 404)
        if self._watchers >= MOST_WATCHERS:
            return PlainTextResponse("too many pages watch already\n", 429)
        live = LiveRun(self.store, listed, self.links)
        return StreamingResponse(self._watched(live), media_type="text/event-stream")

    async def _watched(self, live: LiveRun) -> AsyncIterator[str]:
        """The figures as parts of a page, one event a look; the last one when the run has ended."""
        self._watchers += 1
        try:
            running = True
            while running and not self.ending.is_set():
                try:
                    found: LiveFigures = await run_in_threadpool(live.look)
                    part, running = frame.part(LIVE_PARTS, "figures", found=found), found.running
                except (BenchmarkError, UsageError, StaleIndexError, OSError) as error:
                    part = frame.part(LIVE_PARTS, "trouble", why=str(error))
                yield _event("figures", str(part))
                if running:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self.ending.wait(), live.pause_s)
            if not running:
                yield _event("ended", "the run has ended")
        finally:
            self._watchers -= 1


def _part(request: Request, name: str) -> str:
    return str(request.path_params[name])


def _stem(request: Request, name: str) -> str:
    found = _part(request, name)
    if not found.endswith(".html"):
        raise Missing(f"there is no page {found}")
    return found.removesuffix(".html")


def _query_value(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _event(name: str, text: str) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n"


def create_app(store: Store, links: Links, auth: Auth) -> tuple[ASGIApp, Site]:
    """The guarded application and its handlers."""
    site = Site(store, links)
    inner = Starlette(routes=site.routes())
    return Guard(inner, auth), site
