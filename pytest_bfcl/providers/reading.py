"""Fetching one page of the public web: checked addresses, followed redirects, bounded size and time."""

from __future__ import annotations

import ssl
import time
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.providers.pages import page_result
from pytest_bfcl.providers.safety import Refused, Resolve, Target, checked

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 20.0
"""Without a byte."""
TOTAL_LIMIT_S = 60.0
MAX_BYTES = 4_000_000
MAX_REDIRECTS = 10

HEADERS = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.9",
    "Accept-Encoding": "gzip, deflate",
}


class PageReader:
    """Reads pages. Environment proxies are not used: behind one, the checked address would not be the one reached.

    ``transport`` and ``resolve`` stand for the network in tests.
    """

    def __init__(self, *, transport: httpx.BaseTransport | None = None, resolve: Resolve | None = None) -> None:
        self._transport = transport
        self._resolve = resolve
        self._tls: ssl.SSLContext | None = None

    def fetch(self, url: str, mode: str) -> Parsed:
        """The page as the model gets it; whatever the site or the address does wrong is an ``error``."""
        import httpx

        try:
            return page_result(self.source(url), mode)
        except (Refused, OSError, httpx.HTTPError, httpx.InvalidURL) as error:
            return {"error": str(error) or type(error).__name__}

    def source(self, url: str) -> str:
        """The text behind a URL; raises `Refused` or the error of the network."""
        import httpx

        deadline = time.monotonic() + TOTAL_LIMIT_S
        for _ in range(MAX_REDIRECTS + 1):
            address, request = pinned(checked(url, self._resolve))
            # its own client for each hop: pooled connections are keyed by address and would mix up TLS names.
            with (
                httpx.Client(
                    verify=self._context(), trust_env=False, timeout=TIMEOUT_S, headers=HEADERS,
                    transport=self._transport,
                ) as client,
                client.stream("GET", address, **request) as response,
            ):  # fmt: skip
                if response.has_redirect_location:
                    url = urljoin(url, response.headers["location"])
                    continue
                if response.status_code >= 400:
                    raise Refused(status_text(response.status_code, response.reason_phrase, url))
                return body_text(response, deadline, "page")
        raise Refused(f"more than {MAX_REDIRECTS} redirects")

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


def status_text(status: int, reason: str, url: str) -> str:
    """A site's refusal, in the words of Python's best-known client, which the reference reads pages with."""
    return f"{status} {'Client' if status < 500 else 'Server'} Error: {reason} for url: {url}"


def pinned(target: Target) -> tuple[httpx.URL, Parsed]:
    """The request that goes to the checked address and nowhere else, under the host's name."""
    import httpx

    url = httpx.URL(target.url).copy_with(host=target.address, port=target.port, fragment=None)
    return url, {"headers": {"Host": target.host_header}, "extensions": {"sni_hostname": target.host}}


def body_text(response: httpx.Response, deadline: float, what: str) -> str:
    """The body as text, decompressed; raises `Refused` when it is too large or arrives after ``deadline``."""
    received = bytearray()
    for chunk in response.iter_bytes():
        received += chunk
        if len(received) > MAX_BYTES:
            raise Refused(f"the {what} is larger than {MAX_BYTES:,} bytes")
        if time.monotonic() > deadline:
            raise Refused(f"the {what} took longer than {TOTAL_LIMIT_S:.0f} seconds")
    try:
        return received.decode(response.charset_encoding or "utf-8", errors="replace")
    except LookupError:  # a charset nobody knows
        return received.decode("utf-8", errors="replace")
