"""A web page: fetched within limits, then converted as the model requests (agentic spec §5)."""

from __future__ import annotations

import ssl
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.providers.safety import Refused, Resolve, Target, checked

if TYPE_CHECKING:
    import httpx

MODES = ("raw", "markdown", "truncate")
CONVERSION_S = 5.0
"""Seconds for a conversion: the largest normal page takes less than one, unclosed tags could take minutes."""


class TooSlow(Exception):
    """A page takes too long to convert."""


def page_result(source: str, mode: str, limit_s: float = CONVERSION_S) -> dict[str, Any]:
    """``{"content": text}``, or ``{"error": text}`` for an unknown mode or a page whose conversion takes too long.

    ``markdown`` uses html2text with its default options. ``truncate`` keeps the visible text, one stripped text node a
    line, scripts and styles left out; despite its name it cuts nothing.
    """
    if mode == "raw":
        return {"content": source}
    if mode not in MODES:
        return {"error": f"There is no mode {str(mode)[:100]!r}; the modes are {', '.join(MODES)}."}
    try:
        return {"content": markdown(source, limit_s) if mode == "markdown" else visible_text(source, limit_s)}
    except (TooSlow, RecursionError):
        return {"error": f"The page could not be converted within {limit_s:g} seconds; mode raw gives its source."}
    except Exception:  # both libraries give up on some markup, each in its own way
        return {"error": "The page could not be read as HTML; mode raw gives its source."}


def markdown(source: str, limit_s: float = CONVERSION_S) -> str:
    """The page as html2text writes it. Raises `TooSlow`."""
    import html2text

    clock = _Clock(limit_s)

    class Converter(html2text.HTML2Text):
        """Checks the clock at every piece of the page."""

        def updatepos(self, i: int, j: int) -> int:
            clock.check()
            return int(super().updatepos(i, j))

        def handle_data(self, data: str, entity_char: bool = False) -> None:
            clock.check()
            super().handle_data(data, entity_char)

    return str(Converter().handle(source))


def visible_text(source: str, limit_s: float = CONVERSION_S) -> str:
    """Text nodes outside scripts and styles, stripped, one a line. Raises `TooSlow`."""
    from bs4 import BeautifulSoup

    clock = _Clock(limit_s)

    class Soup(BeautifulSoup):
        """Checks the clock at every piece of the page."""

        def handle_data(self, data: str) -> None:
            clock.check()
            super().handle_data(data)

        def handle_starttag(self, *args: Any, **kwargs: Any) -> Any:
            clock.check()
            return super().handle_starttag(*args, **kwargs)

    soup = Soup(source, "html.parser")
    for element in soup(["script", "style"]):
        element.decompose()
    return soup.get_text(separator="\n", strip=True)


class _Clock:
    """Raise `TooSlow` after the time limit."""

    def __init__(self, limit_s: float) -> None:
        self._end = time.monotonic() + limit_s

    def check(self) -> None:
        if time.monotonic() > self._end:
            raise TooSlow


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
    ``transport`` and ``resolve`` replace the network in tests.
    """

    def __init__(self, *, transport: httpx.BaseTransport | None = None, resolve: Resolve | None = None) -> None:
        self._transport = transport
        self._resolve = resolve
        self._tls: ssl.SSLContext | None = None

    def fetch(self, url: str, mode: str) -> Parsed:
        """The page for the model; a problem of the site or the address is an ``error``."""
        import httpx

        try:
            return page_result(self.source(url), mode)
        except (Refused, OSError, httpx.HTTPError, httpx.InvalidURL) as error:
            return {"error": str(error) or type(error).__name__}

    def source(self, url: str) -> str:
        """The text of a URL. Raises `Refused` or the network's error."""
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
    """A site's refusal, in the words of the client that the reference uses."""
    return f"{status} {'Client' if status < 500 else 'Server'} Error: {reason} for url: {url}"


def pinned(target: Target) -> tuple[httpx.URL, Parsed]:
    """The request that goes only to the checked address, under the host's name."""
    import httpx

    url = httpx.URL(target.url).copy_with(host=target.address, port=target.port, fragment=None)
    return url, {"headers": {"Host": target.host_header}, "extensions": {"sni_hostname": target.host}}


def body_text(response: httpx.Response, deadline: float, what: str) -> str:
    """The body as text, decompressed. Raises `Refused` if it is too large or arrives after ``deadline``."""
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
