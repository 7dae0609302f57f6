"""Runs the checks against a reference server, in process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from aiohttp import web

from pytest_bfcl.extensions.wire.checks import checks_for
from pytest_bfcl.extensions.wire.client import Place, WireClient
from pytest_bfcl.extensions.wire.examiner import Examiner
from pytest_bfcl.extensions.wire.outcome import Outcome
from pytest_bfcl.extensions.wire.probe import DIALECTS, Conduct, Line
from pytest_bfcl.extensions.wire.row import Api
from pytest_bfcl.models.endpoint import Endpoint
from pytest_bfcl.settings import Settings
from tests.extensions.wire.reference import Direct, Reference
from tests.models.loopback import Handler
from tests.models.loopback import in_thread as http

import_module("hypothesis.strategies")  # once: sessions in this process would forget it and import it anew

SCHEMAS = 12
"""Generated schemas of one examination: enough for the faults that are planted."""


def outcomes_of(
    make: Callable[[], WireClient], api: Api, names: Iterable[str] | None, conduct: dict[str, Any]
) -> dict[str, Outcome]:
    """Name → outcome."""

    async def work() -> list[Outcome]:
        conducted = Conduct(**{"wait_s": 0.0, "slack_s": 5.0, "schemas": SCHEMAS} | conduct)
        examiner = Examiner(Line(make(), DIALECTS[api](), "m", conducted), checks_for(api))
        try:
            return await examiner.outcomes(names)
        finally:
            await examiner.aclose()

    return {outcome.check.name: outcome for outcome in asyncio.run(work())}


def examine(
    server: Reference, api: Api = "chat", names: Iterable[str] | None = None, **conduct: Any
) -> dict[str, Outcome]:
    """Without a network."""
    return outcomes_of(lambda: Direct(server), api, names, conduct)


def place_of(url: str, api: Api = "chat", *, key: str = "", **settings: Any) -> Place:
    """A place at a URL; the key comes from a variable, as a user's does."""
    os.environ["WIRE_TEST_KEY"] = key
    try:
        server = Endpoint(url, Settings(**settings), key_variable="WIRE_TEST_KEY")
    finally:
        del os.environ["WIRE_TEST_KEY"]
    return Place(server, "m", api)


def examine_http(
    url: str, api: Api = "chat", names: Iterable[str] | None = None, *, key: str = "", limit_s: float = 20.0,
    **conduct: Any,
) -> dict[str, Outcome]:  # fmt: skip
    """The same over HTTP."""
    place = place_of(url, api, key=key)
    return outcomes_of(lambda: WireClient(place.server, limit_s=limit_s), api, names, conduct)


def states(outcomes: dict[str, Outcome], state: str) -> set[str]:
    """The names of the checks in a state."""
    return {name for name, outcome in outcomes.items() if outcome.state == state}


def handler(server: Reference) -> Handler:
    """Gives every request to the reference; a client that leaves closes the stream it was reading."""

    async def handle(request: web.Request) -> web.StreamResponse:
        served = await server.serve(request.path, await request.read())
        response = web.StreamResponse(status=served.status, headers={"content-type": served.content_type})
        await response.prepare(request)
        try:
            async for chunk in served.chunks:
                await response.write(chunk)
                await asyncio.sleep(0)
            await response.write_eof()
        except ConnectionError:  # the client had enough
            pass
        finally:
            await served.chunks.aclose()
        return response

    return handle


@contextmanager
def served(server: Reference) -> Iterator[str]:
    """Base URL of the reference (or a broken variant) over HTTP."""
    with http(handler(server)) as url:
        yield url
