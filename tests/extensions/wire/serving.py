"""The reference server behind real HTTP on the loopback interface."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from aiohttp import web

from tests.extensions.wire.reference import Reference
from tests.models.loopback import serving

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


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
def http(handle: Handler) -> Iterator[str]:
    """Base URL of a server in a thread of its own."""
    loop = asyncio.new_event_loop()
    started: list[str] = []
    ready, stop = threading.Event(), asyncio.Event()

    async def work() -> None:
        async with serving(handle) as url:
            started.append(url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(work(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


@contextmanager
def served(server: Reference) -> Iterator[str]:
    """Base URL of the reference (or a broken variant) over HTTP."""
    with http(handler(server)) as url:
        yield url
