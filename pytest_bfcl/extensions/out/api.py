"""Requests to a forge's API: JSON in bounded pages, a file; the token goes to the API's own host and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from email.message import Message
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import clean
from pytest_bfcl.redaction import redact

TIMEOUT_S = 30.0
PER_PAGE = 100
MOST_PAGES = 50
MOST_BYTES = 16 * 2**20
MOST_FILE_BYTES = 2 * 2**30
_PIECE = 2**20


class Refused(UsageError):
    """The forge's answer is an error. ``status``: HTTP's, 0 where nobody answered."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _WithoutToken(HTTPRedirectHandler):
    """Files lie with other hosts; what proves who asks is not theirs."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme not in ("http", "https"):
            return None
        found = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        if found is not None and urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            found.headers = {}
            found.unredirected_hdrs = {}
        return found


class Api:
    """One forge's API below ``base``; ``headers`` hold the token."""

    def __init__(self, base: str, headers: Mapping[str, str]) -> None:
        if urlsplit(base).scheme not in ("http", "https"):
            raise UsageError(f"{redact(base)!r} is no address of an API")
        self._base = base.rstrip("/")
        self._headers = dict(headers)
        self._opener = build_opener(_WithoutToken())

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
        with self._open(method, path, None if body is None else json.dumps(body).encode()) as answer:
            text = answer.read(MOST_BYTES)
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused(0, f"{self._base}{path} answers with something else than JSON") from error

    def download(self, path: str, target: Path) -> None:
        """A file. Raises `Refused`."""
        with self._open("GET", path, None) as answer, target.open("wb") as file:
            left = MOST_FILE_BYTES
            while piece := answer.read(_PIECE):
                if (left := left - len(piece)) < 0:
                    raise Refused(0, f"{self._base}{path} is longer than a run can be")
                file.write(piece)

    def _open(self, method: str, path: str, body: bytes | None) -> Any:
        headers = {"User-Agent": "pytest-bfcl", "Accept": "application/json", **self._headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = Request(self._base + path, data=body, headers=headers, method=method)
        shown = f"{method} {self._base}{path.partition('?')[0]}"
        try:
            return self._opener.open(request, timeout=TIMEOUT_S)
        except HTTPError as error:
            said = clean(error.read(300).decode("utf-8", "replace"))
            raise Refused(error.code, redact(f"{shown}: {error.code} {said}")) from None
        except (OSError, ValueError) as error:
            raise Refused(0, redact(f"{shown}: {getattr(error, 'reason', error)}")) from None
