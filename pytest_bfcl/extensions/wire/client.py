"""Our own small client: keeps every byte, bounded in size and time, follows no redirect, repairs nothing."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.wire.replies import Exchange, Trouble
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import create_model
from pytest_bfcl.models.endpoint import Endpoint
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.redaction import hide, redact

if TYPE_CHECKING:
    import aiohttp

    from pytest_bfcl.models.spec import ModelSpec
    from pytest_bfcl.settings import Settings

BYTES_LIMIT = 16 * 1024 * 1024
"""Longest answer taken, in bytes."""
KEPT_OF_TOO_LONG = 64 * 1024
"""Of a longer one, what is kept."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to ask, for which model, with which further fields. Texts leave through ``hidden``, without keys."""

    server: Endpoint
    model: str
    api: str = "chat"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: ModelSpec, settings: Settings) -> Place:
        """The place a model spec names; raises `UsageError` for models that are not asked over HTTP by ourselves."""
        rendered = settings.api_for(spec.provider) == "completions"  # no prompt is rendered for these checks
        model = create_model(spec, replace(settings, api="chat") if rendered else settings)
        if not isinstance(model, OpenAIModel):
            raise UsageError(
                f"the wire checks need an HTTP endpoint, not {spec.text}: "
                "write openai:NAME with --bfcl-base-url URL, or vllm:NAME, sglang:NAME, llamacpp:NAME, …"
            )
        return cls(model.server, model.name, "completions" if rendered else model.api.name, model.settings.parameters)

    @property
    def address(self) -> str:
        """The address without user, password and query."""
        return self.server.shown.rstrip("/")

    def hidden(self, text: str) -> str:
        """``text`` without the secrets."""
        return hide(text, self.server.secrets)


@dataclass(frozen=True, slots=True)
class Incoming:
    """An answer that begins to arrive; ``chunks``: the body as it comes."""

    status: int
    content_type: str
    chunks: AsyncGenerator[bytes, None]
    retry_after_s: float | None = None


class HttpTransport:
    """The real network, through a model's endpoint: its key, headers, limits and proxies."""

    def __init__(self, server: Endpoint) -> None:
        self.server = server

    @asynccontextmanager
    async def open(self, path: str, content: bytes) -> AsyncIterator[Incoming]:
        """Post ``content`` to the endpoint's path; leaving closes the connection.

        Raises `OSError`, `TimeoutError` or aiohttp's errors.
        """
        address = self.server.address(path.lstrip("/"))
        response = await self.server.connected().post(address, data=content, allow_redirects=False)
        try:
            headers = response.headers
            wait_s = _seconds(headers.get("retry-after", ""))
            yield Incoming(response.status, headers.get("content-type", ""), _pieces(response), wait_s)
        finally:
            response.release() if response.content.at_eof() else response.close()

    async def aclose(self) -> None:
        """Close all connections."""
        await self.server.aclose()


async def _pieces(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    async for chunk in response.content.iter_any():
        yield chunk


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None


class WireClient:
    """Asks and keeps. At most ``concurrency`` requests are open at once; an answer is complete within ``limit_s``."""

    def __init__(self, transport: HttpTransport, *, concurrency: int = 32, limit_s: float = 600.0) -> None:
        self.transport = transport
        self.concurrency = concurrency
        self.limit_s = limit_s
        self._slots = _Slots(concurrency)

    async def post(self, path: str, body: object, *, leave_after: int | None = None, depth: int = 0) -> Exchange:
        """Post ``body`` (bytes as they are, everything else as JSON).

        ``leave_after``: close the connection once so many bytes have arrived. Trouble is part of the exchange; nothing
        is raised for what the network or the server does. ``depth``: requests that came before this one in its
        conversation; who has come far waits for nobody who begins, so that the longest conversation ends no later than
        it has to.
        """
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self._slots.slot(depth):
            return await self._exchange(path, content, leave_after)

    async def _exchange(self, path: str, content: bytes, leave_after: int | None) -> Exchange:
        import aiohttp

        began, got = time.perf_counter(), _Received()
        trouble: Trouble | None = None
        said = ""
        try:
            async with asyncio.timeout(self.limit_s), self.transport.open(path, content) as incoming:
                await got.take(incoming, leave_after)
        except TimeoutError as error:
            trouble, said = "timeout", str(error) or f"no complete answer within {self.limit_s:g} s"
        except (OSError, aiohttp.ClientError) as error:
            trouble, said = "cut" if got.status else "unreachable", str(error) or type(error).__name__
        if len(got.data) > BYTES_LIMIT:
            del got.data[KEPT_OF_TOO_LONG:]
            trouble, said = "too_long", f"the answer is longer than {BYTES_LIMIT} bytes"
        now = time.perf_counter()
        return Exchange(
            path, content, got.status, got.content_type, bytes(got.data), trouble, redact(said), now - began,
            (got.first or now) - began, got.retry_after_s,
        )  # fmt: skip


@dataclass(slots=True)
class _Received:
    """What has arrived of one answer."""

    status: int = 0
    content_type: str = ""
    retry_after_s: float | None = None
    data: bytearray = field(default_factory=bytearray)
    first: float | None = None

    async def take(self, incoming: Incoming, leave_after: int | None) -> None:
        self.status, self.content_type = incoming.status, incoming.content_type
        self.retry_after_s = incoming.retry_after_s
        enough = BYTES_LIMIT + 1 if leave_after is None else leave_after
        async with contextlib.aclosing(incoming.chunks) as chunks:
            async for chunk in chunks:
                self.first = self.first or time.perf_counter()
                self.data += chunk
                if len(self.data) >= enough:
                    return


class _Slots:
    """A number of places, given to who has come farthest and then to who came first."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    @asynccontextmanager
    async def slot(self, depth: int) -> AsyncIterator[None]:
        if not self._free:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (-depth, next(self._numbers), place))
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():  # it was given in the same moment
                    self._give()
                raise
        else:
            self._free -= 1
        try:
            yield
        finally:
            self._give()

    def _give(self) -> None:
        while self._waiting:
            place = heapq.heappop(self._waiting)[2]
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
