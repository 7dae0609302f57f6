"""A small web of our own, so that the category runs offline: pages on loopback, searched with BM25.

Page addresses have a reserved host name and are equal in every run. Reading one is a real request to a server thread of
this process. Nothing else can be reached.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.providers.pages import page_result, status_text, visible_text

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 20.0


class LoopbackServer:
    """Serves from a thread until closed; thread-safe, and usable again after closing. ``handler`` makes the class that
    answers requests, when the server starts. ``name`` is the thread's.
    """

    def __init__(self, handler: Callable[[], type[BaseHTTPRequestHandler]], name: str) -> None:
        self._handler = handler
        self._name = name
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    def port(self) -> int:
        """The port on 127.0.0.1; starts the server."""
        with self._lock:
            if self._server is None:
                self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
                self._server.daemon_threads = True
                serve = self._server.serve_forever
                threading.Thread(target=serve, args=(0.05,), daemon=True, name=self._name).start()
            return int(self._server.server_port)

    def get(self, target: str, headers: Mapping[str, str]) -> httpx.Response:
        """The answer to a path with its query. Raises `OSError` without a usable answer."""
        import httpx

        try:
            with httpx.Client(trust_env=False, verify=False, timeout=TIMEOUT_S) as client:
                return client.get(f"http://127.0.0.1:{self.port()}{target}", headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise OSError(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Stop the server."""
        with self._lock:
            if self._server is not None:
                self._server.shutdown()
                self._server.server_close()
                self._server = None


HOST = "web.bfcl.test"
"""``.test`` is reserved (RFC 6761): no name server knows it."""
SNIPPET_CHARS = 160
MAX_QUERY_WORDS = 200

_WORD = re.compile(r"\w+")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


class Page(NamedTuple):
    """One page: file name, source, title and visible text."""

    name: str
    source: str
    title: str
    text: str

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}/{self.name}"


class LocalSite:
    """The pages ``*.html`` of a folder. The server starts when the first page is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._server = LoopbackServer(self._handler, "bfcl web")

    @cached_property
    def pages(self) -> list[Page]:
        """Every page, by file name."""
        return [_page(path) for path in sorted(self.folder.glob("*.html"))]

    @cached_property
    def _index(self) -> tuple[Any, list[set[str]]]:
        """BM25 over titles (counted twice) and texts, and the words of every page."""
        from rank_bm25 import BM25Plus

        words = [_words(page.title) * 2 + _words(page.text) for page in self.pages]
        return BM25Plus(words), [set(each) for each in words]

    def search(self, keywords: str, max_results: int, region: str) -> list[Parsed] | Parsed:
        """Pages that share a word with the query, best first; an ``error`` without any."""
        query = _words(str(keywords))[:MAX_QUERY_WORDS]
        index, words = self._searchable()
        scores = index.get_scores(query)
        ranked = sorted(
            (i for i in range(len(self.pages)) if words[i] & set(query)), key=lambda i: (-round(float(scores[i]), 9), i)
        )
        if not ranked:
            return {"error": f"The search for {str(keywords)[:200]!r} found nothing."}
        return [
            {"title": page.title, "href": page.url, "body": snippet(page.text, set(query))}
            for page in (self.pages[i] for i in ranked)
        ]

    def fetch(self, url: str, mode: str) -> Parsed:
        """A page read from the server; addresses of other hosts are an ``error``."""
        try:
            parts = urlsplit(url)
            host = parts.hostname
        except ValueError:
            host = None
        if host != HOST:
            return {"error": f"only pages of http://{HOST} can be reached"}
        try:
            answer = self._server.get(_path(parts.path), {"Host": HOST})
        except OSError as error:
            return {"error": str(error)}
        if answer.status_code != 200:
            return {"error": status_text(answer.status_code, answer.reason_phrase, url)}
        return page_result(answer.text, mode)

    def close(self) -> None:
        """Stop the server."""
        self._server.close()

    def _searchable(self) -> tuple[Any, list[set[str]]]:
        with self._lock:  # built once, by whoever comes first
            return self._index

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return _handler({f"/{page.name}": page.source.encode() for page in self.pages})


def _handler(contents: dict[str, bytes]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Serves the pages from memory: no request reaches the file system."""

        def do_GET(self) -> None:
            body = contents.get(unquote(self.path.partition("?")[0]))
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

    return Handler


def _path(path: str) -> str:
    """A request path without what HTTP forbids in it."""
    return "".join(c if "!" <= c <= "~" else "%20" if c == " " else "" for c in path) or "/"


def _page(path: Path) -> Page:
    source = path.read_text(encoding="utf-8")
    found = _TITLE.search(source)
    text = visible_text(source)
    title = visible_text(found[1]) if found else path.stem
    return Page(path.name, source, title, text)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def snippet(text: str, query: set[str]) -> str:
    """The part of a text with most of the query's words: whole lines around the best one, cut to a few words."""
    lines = text.splitlines()
    if not lines:
        return ""
    best = max(range(len(lines)), key=lambda i: (len(query & set(_words(lines[i]))), -i))
    chosen = lines[best]
    while len(chosen) < SNIPPET_CHARS and best + 1 < len(lines):
        best += 1
        chosen += " " + lines[best]
    return chosen if len(chosen) <= SNIPPET_CHARS else chosen[:SNIPPET_CHARS].rsplit(" ", 1)[0] + " …"
