"""GET requests to the public web: checked addresses, limited size and time, keys only for their own services.

A model chooses address and headers. The address is checked as for pages (`safety`), and the connection goes to the
checked address. The questions of the retired set name keys by placeholders; a placeholder is replaced only in requests
to the host its key is for, and the key appears in no record.
"""

from __future__ import annotations

import os
import re
import ssl
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit

from pytest_bfcl.extensions.retired.rest.local import whole_url
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.providers.pages import TOTAL_LIMIT_S, body_text, pinned
from pytest_bfcl.providers.safety import Refused, Resolve, checked
from pytest_bfcl.redaction import hide
from pytest_bfcl.spread_json import json_or
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 20.0
MAX_REDIRECTS = 5
MAX_HEADERS = 20

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,80}")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "cookie", "proxy-authorization"})


class ServiceKey(NamedTuple):
    """A placeholder of the questions, the environment variable of the real key, and its host."""

    placeholder: str
    variable: str
    host: str

    def fits(self, host: str) -> bool:
        """Whether the key belongs to this host: the named one, or one below a name that begins with a dot."""
        return host.endswith(self.host) if self.host.startswith(".") else host == self.host


KEYS = (
    ServiceKey("YOUR-RAPID-API-KEY", "BFCL_RAPID_API_KEY", ".p.rapidapi.com"),
    ServiceKey("YOUR-EXCHANGERATE-API-KEY", "BFCL_EXCHANGERATE_API_KEY", "v6.exchangerate-api.com"),
    ServiceKey("YOUR-OMDB-API-KEY", "BFCL_OMDB_API_KEY", "www.omdbapi.com"),
    ServiceKey("YOUR-GEOCODE-API-KEY", "BFCL_GEOCODE_API_KEY", "geocode.maps.co"),
)


class LiveRest:
    """Sends requests to the real services; ``transport`` and ``resolve`` replace the network in tests."""

    live = True

    def __init__(self, *, transport: httpx.BaseTransport | None = None, resolve: Resolve | None = None) -> None:
        self._transport = transport
        self._resolve = resolve
        self._tls: ssl.SSLContext | None = None

    def get(self, url: str, params: Fields, headers: Mapping[str, str]) -> Parsed:
        """See `RestProvider.get`. Raises `AdapterError` if a service is overloaded or broken (429, 5xx)."""
        import httpx

        try:
            host = (urlsplit(url).hostname or "").lower()
            keys = {key.placeholder: os.environ.get(key.variable, key.placeholder) for key in KEYS if key.fits(host)}
            sent = {name: _with_keys(value, keys) for name, value in _headers(headers).items()}
            status, text = self._ask(_with_keys(whole_url(url, params), keys), sent)
        except (Refused, OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as error:
            return {"error": f"{url[:200]}: {str(error)[:300] or type(error).__name__}"}
        if status == 429 or status >= 500:
            kind = AdapterTrouble.RATE_LIMIT if status == 429 else AdapterTrouble.SERVER
            raise AdapterError(kind, f"REST: {host} answered {status}", status=status, advice="continue the run later")
        for placeholder, key in keys.items():
            text = hide(text, (key,) if key != placeholder else (), placeholder)
        return {"status": status, "body": json_or(text)}

    def close(self) -> None:
        """Connections are closed after every request."""

    def _ask(self, url: str, headers: dict[str, str]) -> tuple[int, str]:
        """Status and text; redirects to another host are followed without the caller's headers."""
        import httpx

        deadline = time.monotonic() + TOTAL_LIMIT_S
        for _ in range(MAX_REDIRECTS + 1):
            target = checked(url, self._resolve)
            address, request = pinned(target)
            request["headers"] = {**headers, **request["headers"]}
            with (
                httpx.Client(
                    verify=self._context(), trust_env=False, timeout=TIMEOUT_S, transport=self._transport
                ) as client,
                client.stream("GET", address, **request) as response,
            ):
                if not response.has_redirect_location:
                    return response.status_code, body_text(response, deadline, "response")
                url = urljoin(url, response.headers["location"])
                if urlsplit(url).hostname != target.host:
                    headers = {}
        raise Refused(f"more than {MAX_REDIRECTS} redirects")

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers a caller may set: plain names and one-line ASCII values."""
    if len(headers) > MAX_HEADERS:
        raise Refused(f"more than {MAX_HEADERS} headers")
    kept = {}
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not (value.isascii() and value.isprintable()) or len(value) > 2_000:
            raise Refused(f"header {name[:40]!r} cannot be sent")
        if name.lower() not in _OURS:
            kept[name] = value
    return kept


def _with_keys(text: str, keys: Mapping[str, str]) -> str:
    for placeholder, key in keys.items():
        text = text.replace(placeholder, key)
    return text
