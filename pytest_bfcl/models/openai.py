"""Any endpoint that speaks OpenAI's chat completions: OpenAI, vLLM, SGLang, llama.cpp, LM Studio, Ollama, proxies."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.breaker import Breaker, EndpointUnreachable
from pytest_bfcl.models.completions import REPLY_LIMIT, read_completion
from pytest_bfcl.models.faults import http_fault
from pytest_bfcl.models.redaction import discreet, public_url, redact, url_secrets
from pytest_bfcl.models.retrying import Caller, RetryPolicy
from pytest_bfcl.rendering.tools import CompiledTools
from pytest_bfcl.transcript import Message, Mode, Reply

if TYPE_CHECKING:
    import aiohttp

    from pytest_bfcl.models.spec import ModelSpec
    from pytest_bfcl.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"
BODY_LIMIT = REPLY_LIMIT
"""Largest answer read, in bytes; a longer one is a malformed body."""

_KEEPALIVE_S = 4.0  # under the 5 s after which common servers close idle connections


class OpenAIModel:
    """A model behind ``POST <base_url>/chat/completions``.

    ``key_variable`` names the environment variable with the key. Without a key, requests to api.openai.com fail with an
    ``auth`` error that says which variable to set; other hosts are asked without one.
    """

    def __init__(
        self,
        spec: ModelSpec,
        settings: Settings,
        mode: Mode = "fc",
        *,
        base_url: str = OPENAI_URL,
        key_variable: str = "OPENAI_API_KEY",
        policy: RetryPolicy | None = None,
    ) -> None:
        if not spec.name:
            raise UsageError(f"model {spec.text!r} has no name: write {spec.provider}:NAME")
        self.spec = spec.with_mode(mode).text
        self.name = spec.name
        self.mode: Mode = mode
        self.underscore_names = mode == "fc"
        _check_url(base_url)
        self.base_url = base_url.rstrip("/")
        self.key_variable = key_variable
        self.settings = settings
        self.endpoint = public_url(self.base_url)
        self.notes: list[str] = []
        self.calls = Caller(settings, self.endpoint, policy)
        self._key = os.environ.get(key_variable, "").strip()
        self._secrets = (self._key, *url_secrets(self.base_url))
        self._address = ""
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._renamed: dict[str, str | None] = {}
        self._tools = CompiledTools(size=max(settings.concurrency + 32, 128))

    @property
    def breaker(self) -> Breaker:
        """The circuit breaker; ``breaker.reason`` is set when the run should stop."""
        return self.calls.breaker

    async def generate(self, request: Request) -> Reply:
        """Ask once, with retries; see `Caller.call` for what is raised."""
        if self._session is None:
            import aiohttp  # noqa: F401 - here, or the first reply's latency would include it
        return await self.calls.call(lambda: self._attempt(request))

    async def aclose(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(RuntimeError):  # the loop it belonged to may be closed already
                await session.close()
            session.detach()

    def payload(self, request: Request) -> dict[str, Any]:
        """The JSON body sent for a request."""
        body: dict[str, Any] = {"model": self.name, "messages": [_outgoing(m) for m in request.messages]}
        if request.functions and self.mode == "fc":
            body["tools"] = self._tools.of(request.functions)
        for parameter, value in request.parameters.items():
            name = self._renamed.get(parameter, parameter)
            if name is not None and value is not None:
                body[name] = value
        return body

    def _encoded(self, body: dict[str, Any], request: Request) -> bytes:
        """The body as JSON; the tools, which stay the same through a conversation, are encoded once."""
        if "tools" not in body:
            return json.dumps(body).encode()
        rest = json.dumps({name: value for name, value in body.items() if name != "tools"})
        return f'{rest[:-1]}, "tools": {self._tools.text(request.functions)}}}'.encode()

    async def _attempt(self, request: Request) -> Reply:
        body = self.payload(request)
        status, text, headers = await self._post(self._encoded(body, request))
        if status == 200:
            return discreet(read_completion(_parsed(text, self._secrets)), self._secrets)
        fault = http_fault(
            status, text, headers, endpoint=self.endpoint, model=self.name, secrets=self._secrets,
            tools_sent="tools" in body,
        )  # fmt: skip
        if isinstance(fault, Reply):
            return fault
        if status in (400, 422) and self._adapt(text, body):
            return await self._attempt(request)
        raise fault

    def _adapt(self, text: str, body: Mapping[str, Any]) -> bool:
        """What an endpoint refuses is learnt once, noted, and asked again its way.

        Reasoning models refuse ``temperature`` or want ``max_completion_tokens``; strict servers refuse the
        ``response`` schema inside a tool.
        """
        if self._folds(text, body):
            return True
        if "max_tokens" in body and "max_completion_tokens" in text and "max_tokens" not in self._renamed:
            self._renamed["max_tokens"] = "max_completion_tokens"
            self.notes.append(f"{self.spec}: max_tokens is sent as max_completion_tokens")
            return True
        if "temperature" in body and "temperature" in text and "temperature" not in self._renamed:
            self._renamed["temperature"] = None
            self.notes.append(f"{self.spec}: the endpoint refuses temperature={body['temperature']}; sent without it")
            return True
        # A request that was already on its way when another one taught us.
        return any(name in body and name in text for name in self._renamed)

    def _folds(self, text: str, body: Mapping[str, Any]) -> bool:
        if "response" not in text or not any("response" in tool["function"] for tool in body.get("tools", ())):
            return False
        if self._tools.style == "openai":
            self._tools = CompiledTools("folded", self._tools.size)
            note = "response schemas are refused by the endpoint; the descriptions tell them"
            self.notes.append(f"{self.spec}: {note}")
        return True

    async def _post(self, content: bytes) -> tuple[int, str, Mapping[str, str]]:
        import aiohttp

        session = self._connected()
        try:
            # A redirect is an answer like any other: following it would resend the key to another place.
            async with session.post(self._address, data=content, allow_redirects=False) as response:
                data = await _bounded(response)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._transport_error(error) from None
        except (OSError, ValueError) as error:
            raise AdapterError("connection", self._said(error), retryable=True) from None
        return response.status, data.decode("utf-8", "replace"), response.headers

    def _connected(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            if not self._key and _is_openai(self.base_url):
                raise AdapterError(
                    "auth",
                    f"no key for {self.endpoint}: the environment variable {self.key_variable} is not set",
                    advice=f"export {self.key_variable}=…, or give --bfcl-base-url for a server that needs none",
                )
            self._session, self._loop = self._new_session(), loop
        return self._session

    def _new_session(self) -> aiohttp.ClientSession:
        """A connection per request in flight. No limit on the whole request here: `Stopwatch` has it."""
        import aiohttp

        seconds = self.settings.timeout_s
        headers = {"content-type": "application/json", "accept": "application/json"}
        self._address, basic = _address(self.base_url)
        if basic or self._key:
            headers["authorization"] = basic or f"Bearer {self._key}"
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=max(self.settings.concurrency, 8), keepalive_timeout=_KEEPALIVE_S, ttl_dns_cache=300
            ),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(seconds, 30.0), sock_read=seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=not is_local(self.base_url),  # proxies from the environment, never for local servers
        )

    def _transport_error(self, error: Exception) -> AdapterError:
        """What broke on the way, in this package's words."""
        import aiohttp

        if isinstance(error, aiohttp.InvalidURL):
            return AdapterError("bad_request", self._said(error), advice="check the base URL")
        advice = f"is the server at {self.endpoint} running and reachable?"
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            return EndpointUnreachable(f"cannot connect: {self._said(error)}", advice=advice)
        if isinstance(error, TimeoutError):
            wait = f"{self.settings.timeout_s:g} s"
            return AdapterError(
                "timeout", f"{self.endpoint} sent nothing for {wait}", retryable=True,
                advice="raise --bfcl-timeout or lower --bfcl-concurrency",
            )  # fmt: skip
        return AdapterError(
            "connection", f"the connection broke: {self._said(error)}", advice=advice, retryable=True,
        )  # fmt: skip

    def _said(self, error: BaseException) -> str:
        text = redact(str(error) or type(error).__name__, self._secrets)
        return f"{self.endpoint}: {text}"


def is_local(url: str) -> bool:
    """Whether the URL's host is this machine or a private address."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith((".localhost", ".local")):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private


def _is_openai(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == "openai.com" or host.endswith(".openai.com")


def _address(base_url: str) -> tuple[str, str | None]:
    """Where requests go, and the ``Authorization`` a user and password in the URL ask for; a query stays at the end."""
    from base64 import b64encode
    from urllib.parse import unquote

    parts = urlsplit(base_url)
    basic = None
    if parts.username is not None:
        words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        basic = f"Basic {b64encode(words.encode()).decode()}"
    path = f"{parts.path.rstrip('/')}/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, parts.query, "")), basic


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, half a bracket
        usable = False
    if not usable:
        shown = redact(url.rpartition("@")[2].partition("?")[0])
        raise UsageError(f"base URL {shown!r} is not an http(s) address, for instance http://localhost:8000/v1")


def _outgoing(message: Message) -> Message:
    """A message without what is ours: stored reasoning and keys that start with an underscore."""
    if message.keys() <= {"role", "content"}:
        return message
    return {key: value for key, value in message.items() if not key.startswith("_") and key != "reasoning_content"}


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > BODY_LIMIT:
            raise AdapterError("malformed_body", f"the answer is longer than {BODY_LIMIT} bytes")
    return bytes(data)


def _parsed(text: str, secrets: tuple[str, ...]) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        excerpt = redact(text, secrets, limit=120)
        raise AdapterError(
            "malformed_body", f"the answer is not JSON ({error}): {excerpt!r}", retryable=True,
        ) from None  # fmt: skip
