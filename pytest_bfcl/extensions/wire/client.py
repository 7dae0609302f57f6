"""Our own small client: keeps every byte, bounded in size and time, follows no redirect, repairs nothing."""

from __future__ import annotations

import asyncio
import contextlib
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
"""Longest accepted answer in bytes."""
KEPT_OF_TOO_LONG = 64 * 1024
"""The stored beginning of a longer one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Address, model and further fields of requests. Texts leave through ``hidden``, without keys."""

    server: Endpoint
    model: str
    api: str = "chat"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: ModelSpec | None, settings: Settings) -> Place:
        """The place of a model spec. Raises `UsageError` for models that have none, or no HTTP endpoint."""
        if spec is None:
            raise UsageError("the wire checks need a model named by --model, not one of a fixture")
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
    """An answer that has begun to arrive; ``chunks``: its body."""

    status: int
    content_type: str
    chunks: AsyncGenerator[bytes, None]
    retry_after_s: float | None = None


class WireClient:
    """Sends requests to an endpoint with its key, headers, limits and proxies, and stores the answers.

    At most ``concurrency`` requests are open at once; an answer is complete within ``limit_s``.
    """

    def __init__(self, server: Endpoint, *, concurrency: int = 32, limit_s: float = 600.0) -> None:
        self.server = server
        self.concurrency = concurrency
        self.limit_s = limit_s
        self._slots = asyncio.Semaphore(concurrency)

    async def post(self, path: str, body: object, *, leave_after: int | None = None) -> Exchange:
        """Post ``body`` (bytes unchanged, everything else as JSON).

        ``leave_after``: close the connection after this number of bytes. Errors of network and server are part of the
        exchange and not raised.
        """
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self._slots:
            return await self._exchange(path, content, BYTES_LIMIT + 1 if leave_after is None else leave_after)

    async def _exchange(self, path: str, content: bytes, enough: int) -> Exchange:
        import aiohttp

        began, first, data = time.perf_counter(), None, bytearray()
        incoming: Incoming | None = None
        trouble: Trouble | None = None
        said = ""
        try:
            async with (
                asyncio.timeout(self.limit_s),
                self.open(path, content) as incoming,
                contextlib.aclosing(incoming.chunks) as chunks,
            ):
                async for chunk in chunks:
                    first = first or time.perf_counter()
                    data += chunk
                    if len(data) >= enough:
                        break
        except TimeoutError as error:
            trouble, said = "timeout", str(error) or f"no complete answer within {self.limit_s:g} s"
        except (OSError, aiohttp.ClientError) as error:
            trouble, said = "cut" if incoming is not None else "unreachable", str(error) or type(error).__name__
        if len(data) > BYTES_LIMIT:
            del data[KEPT_OF_TOO_LONG:]
            trouble, said = "too_long", f"the answer is longer than {BYTES_LIMIT} bytes"
        now = time.perf_counter()
        exchange = Exchange(
            path, content, received=bytes(data), trouble=trouble, said=redact(said), seconds=now - began,
            first_s=(first or now) - began,
        )  # fmt: skip
        if incoming is None:
            return exchange
        return replace(
            exchange, status=incoming.status, content_type=incoming.content_type, retry_after_s=incoming.retry_after_s
        )

    @asynccontextmanager
    async def open(self, path: str, content: bytes) -> AsyncIterator[Incoming]:
        """Post ``content`` to the endpoint's path; leaving closes the connection.

        Raises `OSError`, `TimeoutError` or aiohttp's errors.
        """
        address = self.server.address(path.lstrip("/"))
        response = await self.server.connected().post(address, data=content, allow_redirects=False)
        wait_s = None
        with contextlib.suppress(ValueError):
            wait_s = max(0.0, float(response.headers.get("retry-after", "")))
        try:
            yield Incoming(response.status, response.headers.get("content-type", ""), _pieces(response), wait_s)
        finally:
            response.release() if response.content.at_eof() else response.close()

    async def aclose(self) -> None:
        """Close all connections."""
        await self.server.aclose()


async def _pieces(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    async for chunk in response.content.iter_any():
        yield chunk
