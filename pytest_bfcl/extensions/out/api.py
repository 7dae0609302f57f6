"""Requests to a forge's API: JSON in bounded pages, a file; the token goes to the API's own host and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import clean
from pytest_bfcl.redaction import redact

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 30.0
PER_PAGE = 100
MOST_PAGES = 50
MOST_BYTES = 16 * 2**20
MOST_FILE_BYTES = 2 * 2**30


class Refused(UsageError):
    """The forge's answer is an error. ``status``: HTTP's, 0 without an answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Api:
    """One forge's API below ``base``; ``headers`` hold the token."""

    def __init__(self, base: str, headers: Mapping[str, str]) -> None:
        if urlsplit(base).scheme not in ("http", "https"):
            raise UsageError(f"{redact(base)!r} is no address of an API")
        self._base = base.rstrip("/")
        self._headers = dict(headers)

    def pages(self, path: str, **query: str) -> Iterator[Parsed]:
        """The objects of a list, page by page."""
        for page in range(1, MOST_PAGES + 1):
            found = self.ask("GET", f"{path}?{urlencode({**query, 'per_page': PER_PAGE, 'page': page})}")
            if not isinstance(found, list):
                raise Refused(0, f"{self._base}{path} answers with no list")
            yield from (each for each in found if isinstance(each, dict))
            if len(found) < PER_PAGE:
                return

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request; its answer, parsed. Raises `Refused`."""
        text = bytearray()
        with self._open(method, path, body) as answer:
            for piece in answer.iter_bytes():
                text += piece
                if len(text) > MOST_BYTES:
                    raise Refused(0, f"{self._base}{path} is longer than {MOST_BYTES:,} bytes")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused(0, f"{self._base}{path} answers with something else than JSON") from error

    def download(self, path: str, target: Path) -> None:
        """A file. Raises `Refused`."""
        with self._open("GET", path) as answer, target.open("wb") as file:
            left = MOST_FILE_BYTES
            for piece in answer.iter_bytes():
                if (left := left - len(piece)) < 0:
                    raise Refused(0, f"{self._base}{path} is longer than a run can be")
                file.write(piece)

    @contextmanager
    def _open(self, method: str, path: str, body: object = None) -> Iterator[httpx.Response]:
        """An answer below 300. Only what is read may lead elsewhere: a change that was moved is refused."""
        import httpx

        shown = f"{method} {self._base}{path.partition('?')[0]}"
        headers = {"User-Agent": "pytest-bfcl", "Accept": "application/json", **self._headers}
        try:
            with (
                httpx.Client(
                    timeout=TIMEOUT_S, follow_redirects=method == "GET", event_hooks={"request": [self._guard]}
                ) as client,
                client.stream(method, self._base + path, json=body, headers=headers) as answer,
            ):
                if answer.status_code >= 300:
                    said = clean(next(answer.iter_bytes(300), b"").decode("utf-8", "replace"))
                    raise Refused(answer.status_code, redact(f"{shown}: {answer.status_code} {said}"))
                yield answer
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise Refused(0, redact(f"{shown}: {error}")) from None

    def _guard(self, request: httpx.Request) -> None:
        """Take the token out of what goes elsewhere: files lie with other hosts, and who asks is not theirs to know."""
        import httpx

        own = httpx.URL(self._base)
        if (request.url.scheme, request.url.netloc) != (own.scheme, own.netloc):
            for name in self._headers:
                request.headers.pop(name, None)
