"""One HTTP endpoint: address, key, headers and connections; answers are read within limits, whole or streamed."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import os
import socket
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from pytest_bfcl.answers.chat import REPLY_LIMIT
from pytest_bfcl.endpoints.faults import EndpointUnreachable
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.base import Joiner
from pytest_bfcl.models.streams import EventReader
from pytest_bfcl.redaction import discreet, public_url, redact, secrets_of, url_secrets
from pytest_bfcl.spread_json import json_or
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    import aiohttp

    from pytest_bfcl.settings import Settings

BODY_LIMIT = REPLY_LIMIT
"""Largest accepted answer in bytes; a longer one is a malformed body."""

_QUOTES = ("'", '"', "`", "“", "”", "‘", "’")
_KEEPALIVE_S = 4.0  # under the 5 s after which common servers close idle connections
_EVENTS = (b"data:", b"event:", b": ")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. ``whole``: a joined stream; otherwise ``text`` is the body as sent."""

    status: int
    text: str
    headers: Mapping[str, str]
    whole: Parsed | None = None
    first_token_s: float | None = None


class Endpoint:
    """A base URL with key, headers and connections. ``shown`` is the URL without secrets."""

    def __init__(
        self, base_url: str, settings: Settings, *, key_variable: str, key_header: str = "authorization",
        headers: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        check_url(base_url)
        self.url = base_url.rstrip("/")
        self.settings = settings
        self.shown = public_url(self.url)
        self.key_variable = key_variable
        self.notes: list[str] = []
        self._key_header = key_header
        self._headers = {**(headers or {}), **settings.headers}
        self._key = self._stripped_key()
        listed = partial(
            secrets_of, key=self._key, url=self.url, headers=settings.headers, parameters=settings.parameters
        )
        added = [secret for outside in _environment(self.url) for secret in url_secrets(outside)]
        self.secrets = (*listed(), *added)
        self.secrets_in_replies = (*listed(in_replies=True), *added)
        self._proxy: str | None = None
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def _stripped_key(self) -> str:
        raw = os.environ.get(self.key_variable, "")
        key = raw.strip()
        if key != raw:
            self.notes.append(f"{self.key_variable} has white space around the key; it is sent without")
        if key[:1] in _QUOTES or key[-1:] in _QUOTES:
            raise UsageError(f"{self.key_variable} has a quote around the key: set it without quotes")
        return key

    @property
    def has_key(self) -> bool:
        """Whether requests carry a key."""
        return bool(self._key)

    def address(self, path: str) -> str:
        """The address of a path of the API; a query of the base URL stays at the end."""
        return _address(self.url, path)

    def public_url(self, path: str) -> str:
        """The same without anything secret, for messages."""
        return f"{self.shown.rstrip('/')}/{path}"

    async def post(self, path: str, content: bytes, joiner: Joiner | None = None) -> Answer:
        """Send a body; with a joiner the answer may arrive as events. Raises `AdapterError` for transport errors."""
        import aiohttp

        session = self.connected()
        started = time.perf_counter()
        try:
            # A redirect is an answer like any other: following it would resend the key to another place.
            async with session.post(
                self.address(path), data=content, allow_redirects=False, proxy=self._proxy
            ) as response:
                events = joiner if response.status == 200 else None
                if events is not None and response.content_type == "text/event-stream":
                    return self._discreet(await _streamed(response, events, started))
                data = await _bounded(response)
                if events is not None and data.lstrip().startswith(_EVENTS):  # under another name
                    reader = EventReader(events)
                    reader.feed(data)
                    return self._discreet(_joined(reader, events, response))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._transport_error(error) from None
        except (OSError, ValueError) as error:
            raise AdapterError(AdapterTrouble.CONNECTION, self._error_text(error), retryable=True) from None
        return self._discreet(Answer(response.status, _text_of(data, response), response.headers))

    def _discreet(self, answer: Answer) -> Answer:
        """The answer without the credentials of its request, before it is read or quoted."""
        known = self.secrets_in_replies
        if answer.whole is not None:
            return replace(answer, whole=discreet(answer.whole, known))
        text = discreet(answer.text, known)
        return answer if text is answer.text else replace(answer, text=text)

    async def get(self, path: str, body: Any = None, *, base: str | None = None, timeout_s: float = 5.0) -> Any:
        """A JSON answer to ``GET``, or to ``POST`` with a body; ``None`` for anything else. Never raises."""
        import aiohttp

        address = self.address(path) if base is None else f"{base}/{path}"
        total = aiohttp.ClientTimeout(total=timeout_s)
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
        try:
            async with self.connected().request(
                method, address, data=content, allow_redirects=False, timeout=total, proxy=self._proxy
            ) as response:
                data = await _bounded(response)
            return discreet(json_or(data), self.secrets) if response.status == 200 else None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, AdapterError):
            return None

    async def aclose(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(RuntimeError):  # the loop it belonged to may be closed already
                await session.close()
            session.detach()

    def connected(self) -> aiohttp.ClientSession:
        """The session of the running loop, with key and headers. Raises `AdapterError` without a usable key."""
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            self.check_key()
            self._session, self._loop = self._new_session(), loop
        return self._session

    def check_key(self) -> None:
        """Raise `AdapterError` if requests need a key and there is no usable one; sends nothing."""
        if not self._key and needs_key(self.url) and not self._has_own_key():
            raise AdapterError(
                AdapterTrouble.AUTH,
                f"no key for {self.shown}: the environment variable {self.key_variable} is not set",
                advice=f"export {self.key_variable}=…, or give --bfcl-base-url for a server that needs none",
            )
        if any(not c.isprintable() or c.isspace() for c in self._key):
            raise AdapterError(
                AdapterTrouble.AUTH,
                f"the key in {self.key_variable} has a line break or a blank inside",
                advice=f"export {self.key_variable} again, without it",
            )

    def _has_own_key(self) -> bool:
        return any(name.lower() in ("authorization", "x-api-key", "api-key") for name in self._headers)

    def _new_session(self) -> aiohttp.ClientSession:
        """A connection per request in flight. `Stopwatch` has the limit of a whole request."""
        import aiohttp

        seconds = self.settings.timeout_s
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self.settings.stream:
            headers["accept"] += ", text/event-stream"
        # Looked up once: the library would read environment and ``.netrc`` in a thread, for every request.
        proxy, login = _environment(self.url)
        self._proxy = proxy or None
        basic = _basic(self.url) or (None if self._key else _basic(login))
        if basic or (self._key and self._key_header == "authorization"):
            headers["authorization"] = basic or f"Bearer {self._key}"
        elif self._key:
            headers[self._key_header] = self._key
        for name, value in self._headers.items():
            headers = {n: v for n, v in headers.items() if n.lower() != name.lower()} | {name: value}
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=max(self.settings.concurrency, 8), keepalive_timeout=_KEEPALIVE_S, ttl_dns_cache=300
            ),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(seconds, 30.0), sock_read=seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    def _transport_error(self, error: Exception) -> AdapterError:
        """The transport error in this package's words."""
        import aiohttp

        if isinstance(error, aiohttp.InvalidURL):
            return AdapterError(AdapterTrouble.BAD_REQUEST, self._error_text(error), advice="check the base URL")
        advice = f"is the server at {self.shown} running and reachable?"
        if isinstance(error, aiohttp.ClientConnectorError):
            return self._unreachable(error.os_error, advice)
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return EndpointUnreachable(f"cannot connect: {self._error_text(error)}", advice=advice)
        if isinstance(error, TimeoutError):
            wait = f"{self.settings.timeout_s:g} s"
            return AdapterError(
                AdapterTrouble.TIMEOUT, f"{self.shown} sent nothing for {wait}", retryable=True,
                advice="raise --bfcl-timeout or lower --bfcl-concurrency",
            )  # fmt: skip
        return AdapterError(
            AdapterTrouble.CONNECTION,
            f"the connection broke: {self._error_text(error)}",
            advice=advice,
            retryable=True,
        )

    def _unreachable(self, error: OSError, advice: str) -> AdapterError:
        """Why there is no connection, in few words: no server, another protocol, or the system's message."""
        text = redact(str(error.strerror or error), self.secrets)
        if "WRONG_VERSION_NUMBER" in str(error) or "record layer" in str(error):
            plain = f"http://{self.shown.removeprefix('https://')}"
            return AdapterError(
                AdapterTrouble.BAD_REQUEST,
                f"{self.shown} does not speak https",
                advice=f"write --bfcl-base-url {plain}",
            )
        if is_local(self.url) and (isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error)):
            return EndpointUnreachable(f"no server listens at {self.shown}", advice="start it, or check the port",
                                       refused=True)  # fmt: skip
        if error.errno in _NO_SUCH_HOST:
            host = urlsplit(self.shown).hostname
            return EndpointUnreachable(f"no host {host!r} is known", advice="check the address", refused=True)
        return EndpointUnreachable(f"cannot connect to {self.shown}: {text}", advice=advice)

    def _error_text(self, error: BaseException) -> str:
        words = str(error) if isinstance(getattr(error, "message", ""), str) else ""  # else: half the head of an answer
        text = redact(words or type(error).__name__, self.secrets)
        return f"{self.shown}: {text}"


_NO_SUCH_HOST = frozenset((socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)))
"""The resolver's texts for unknown names; a resolver that could not answer (``EAI_AGAIN``) is a temporary error."""


async def _streamed(response: aiohttp.ClientResponse, joiner: Joiner, started: float) -> Answer:
    reader = EventReader(joiner)
    first: float | None = None
    async for chunk in response.content.iter_any():
        reader.feed(chunk)
        if first is None and joiner.started:
            first = round(time.perf_counter() - started, 6)
        if reader.done:
            break
    return _joined(reader, joiner, response, first)


def _joined(
    reader: EventReader, joiner: Joiner, response: aiohttp.ClientResponse, first: float | None = None
) -> Answer:
    reader.close()
    if reader.error is not None:
        return Answer(response.status, json.dumps(reader.error), response.headers)
    return Answer(response.status, "", response.headers, joiner.body(), first)


@lru_cache(maxsize=64)
def _address(url: str, path: str) -> str:
    parts = urlsplit(url)
    whole = f"{parts.path.rstrip('/')}/{path}"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], whole, parts.query, ""))


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


def _environment(url: str) -> tuple[str, str]:
    """The proxy for an address that is not local, and a URL with user and password that ``.netrc`` has for it.

    Else empty.
    """
    if is_local(url):
        return "", ""
    import netrc
    from urllib.request import getproxies, proxy_bypass

    parts, login = urlsplit(url), ""
    host = str(parts.hostname)
    proxy = "" if proxy_bypass(host) else getproxies().get(parts.scheme, "")
    with contextlib.suppress(OSError, netrc.NetrcParseError):
        if entry := netrc.netrc(os.environ.get("NETRC")).authenticators(host):
            login = f"http://{quote(entry[0], safe='')}:{quote(entry[2] or '', safe='')}@h"
    return proxy, login


def is_openai(url: str) -> bool:
    """Whether this is OpenAI's own address."""
    return _at(url, "openai.com")


def needs_key(url: str) -> bool:
    """Whether nothing is answered here without a key."""
    return _at(url, "openai.com") or _at(url, "anthropic.com")


def _at(url: str, domain: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == domain or host.endswith(f".{domain}")


_METHODS = ("/chat/completions", "/completions", "/responses", "/messages")
"""The path below a base URL."""


def check_url(url: str) -> None:
    """Raise `UsageError` unless this is an http(s) address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, half a bracket
        usable = False
    shown = redact(url.rpartition("@")[2].partition("?")[0])
    if not usable:
        raise UsageError(f"base URL {shown!r} is not an http(s) address, for instance http://localhost:8000/v1")
    if method := next((each for each in _METHODS if parts.path.rstrip("/").endswith(each)), None):
        raise UsageError(f"base URL {shown!r} names one method: leave out {method}, it is added to every request")


def _basic(url: str) -> str | None:
    """The ``Authorization`` for a user and password in the URL."""
    parts = urlsplit(url)
    if parts.username is None:
        return None
    words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {b64encode(words.encode()).decode()}"


_OTHER_CHARSETS = ("iso-8859-1", "latin-1", "latin1", "windows-1252", "cp1252")
"""Encodings that a server may name and that are used if the body is not UTF-8."""


def _text_of(data: bytes, response: aiohttp.ClientResponse) -> str:
    """A body as text: JSON shows its Unicode form by its first bytes. Raises a retryable `AdapterError` for an answer
    that is no text, because replaced characters must not count as the model's. An error's body is shown as far as
    possible.
    """
    try:
        return data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        named = (response.charset or "").lower()
        if named in _OTHER_CHARSETS:
            return data.decode("cp1252" if named in ("windows-1252", "cp1252") else "latin-1", "replace")
        if 200 <= response.status < 300:
            what = f"the answer is not UTF-8 ({error.reason} at byte {error.start})"
            raise AdapterError(AdapterTrouble.MALFORMED_BODY, what, retryable=True) from None
        return data.decode("utf-8", "replace")


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    stream = response.content
    pieces = [await stream.readany()]
    size = len(pieces[0])
    while size <= BODY_LIMIT and not stream.at_eof():
        pieces.append(await stream.readany())
        size += len(pieces[-1])
    if size > BODY_LIMIT:
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, f"the answer is longer than {BODY_LIMIT} bytes")
    return b"".join(pieces)
