"""Our own small client: keeps every byte, bounded in size and time, follows no redirect, repairs nothing."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from pytest_bfcl.extensions.wire.exchange import Exchange, Trouble
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


class Incoming(Protocol):
    """An answer that begins to arrive."""

    status: int
    content_type: str
    retry_after_s: float | None

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        ...


class Transport(Protocol):
    """Brings bytes to a server and back. Leaving the context closes the connection."""

    def open(self, path: str, content: bytes) -> AbstractAsyncContextManager[Incoming]:
        """Post ``content``; raises `OSError`, `TimeoutError` or the HTTP library's errors."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


class WireClient:
    """Asks and keeps. At most ``concurrency`` requests are open at once; an answer is complete within ``limit_s``."""

    def __init__(self, transport: Transport, *, concurrency: int = 32, limit_s: float = 600.0) -> None:
        self.transport = transport
        self.concurrency = concurrency
        self.limit_s = limit_s
        self.requests = 0
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
            self.requests += 1
            return await _Reception(path, content).carry(self.transport, self.limit_s, leave_after)


class _Slots:
    """So many places, given to who has come farthest and then to who came first."""

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


class _Reception:
    """One exchange while it happens."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path, self.content = path, content
        self.status, self.content_type = 0, ""
        self.retry_after_s: float | None = None
        self.received = bytearray()
        self.began = time.perf_counter()
        self.first: float | None = None

    async def carry(self, transport: Transport, limit_s: float, leave_after: int | None) -> Exchange:
        try:
            async with asyncio.timeout(limit_s):
                return await self._carry(transport, leave_after)
        except TimeoutError as error:
            return self._exchange("timeout", str(error) or f"no complete answer within {limit_s:g} s")
        except OSError as error:
            return self._exchange("cut" if self.status else "unreachable", _words(error))
        except Exception as error:
            if not _of_aiohttp(error):
                raise
            return self._exchange("cut" if self.status else "unreachable", _words(error))

    async def _carry(self, transport: Transport, leave_after: int | None) -> Exchange:
        async with transport.open(self.path, self.content) as incoming:
            self.status, self.content_type = incoming.status, incoming.content_type
            self.retry_after_s = incoming.retry_after_s
            async with contextlib.aclosing(_closable(incoming.chunks())) as chunks:
                async for chunk in chunks:
                    self.first = self.first or time.perf_counter()
                    self.received += chunk
                    if len(self.received) > BYTES_LIMIT:
                        del self.received[KEPT_OF_TOO_LONG:]
                        return self._exchange("too_long", f"the answer is longer than {BYTES_LIMIT} bytes")
                    if leave_after is not None and len(self.received) >= leave_after:
                        break
        return self._exchange(None, "")

    def _exchange(self, trouble: Trouble | None, said: str) -> Exchange:
        now = time.perf_counter()
        return Exchange(
            self.path, self.content, self.status, self.content_type, bytes(self.received), trouble, redact(said),
            now - self.began, (self.first or now) - self.began, self.retry_after_s,
        )  # fmt: skip


async def _closable(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """An iterator that can be closed early, whatever it was."""
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _of_aiohttp(error: Exception) -> bool:
    import aiohttp

    return isinstance(error, aiohttp.ClientError)


class HttpTransport:
    """The real network, through a model's endpoint: its key, headers, limits and proxies."""

    def __init__(self, server: Endpoint) -> None:
        self.server = server

    @asynccontextmanager
    async def open(self, path: str, content: bytes) -> AsyncIterator[Incoming]:
        """Post to the endpoint's path."""
        address = self.server.address(path.lstrip("/"))
        response = await self.server.connected().post(address, data=content, allow_redirects=False)
        try:
            yield _HttpIncoming(response)
        finally:
            response.release() if response.content.at_eof() else response.close()

    async def aclose(self) -> None:
        """Close all connections."""
        await self.server.aclose()


class _HttpIncoming:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.content_type = response.headers.get("content-type", "")
        self.retry_after_s = _seconds(response.headers.get("retry-after", ""))

    def chunks(self) -> AsyncIterator[bytes]:
        return self._response.content.iter_any()


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None
