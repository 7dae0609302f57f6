"""The real web: searches through SerpApi (DuckDuckGo's results), pages fetched directly (agentic spec §5).

The key is read from the environment and appears in no log, error text or record.
"""

from __future__ import annotations

import logging
import os
import random
import time
from typing import TYPE_CHECKING

from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.providers.pages import PageReader
from pytest_bfcl.providers.recorded import KEY_VARIABLE
from pytest_bfcl.redaction import hide
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    import httpx

URL = "https://serpapi.com/search.json"
ENGINE = "duckduckgo"
TIMEOUT_S = 60.0
FIRST_WAIT_S, LONGEST_WAIT_S, WAIT_LIMIT_S = 2.0, 120.0, 600.0
"""Waits double from the first to the longest, each with a random part of the same size; no attempt after the limit."""

_OURS = ("api key", "api_key", "run out of searches", "account", "plan", "unauthorized")
"""Words in SerpApi's messages about the key or the account, not the search."""


class SerpApi:
    """Searches through SerpApi; ``transport`` and ``pages`` replace the network in tests."""

    def __init__(
        self,
        *,
        transport: httpx.BaseTransport | None = None,
        pages: PageReader | None = None,
        wait_limit_s: float = WAIT_LIMIT_S,
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        import httpx

        self._key = os.environ.get(KEY_VARIABLE, "")
        if not self._key:
            raise UsageError(f"set {KEY_VARIABLE} to search through SerpApi")
        self._pages = pages or PageReader()
        self._wait_limit_s = wait_limit_s
        self._first_wait_s = first_wait_s
        self._client = httpx.Client(timeout=TIMEOUT_S, transport=transport)
        self._filter = _HideKey(self._key)
        for name in ("httpx", "httpcore"):  # httpx logs whole URLs, and the key is part of them
            logging.getLogger(name).addFilter(self._filter)

    def search(self, keywords: str, max_results: int, region: str) -> list[Parsed] | Parsed:
        """Organic results; an ``error`` without any. Raises `AdapterError` if the service fails: key, quota, rate
        limit, network.
        """
        payload = self._patiently(str(keywords), str(region))
        return organic_results(payload)

    def fetch(self, url: str, mode: str) -> Parsed:
        """See `PageReader.fetch`."""
        return self._pages.fetch(url, mode)

    def close(self) -> None:
        """Close connections."""
        self._client.close()
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).removeFilter(self._filter)

    def _patiently(self, keywords: str, region: str) -> Parsed:
        """The answer, with retries during temporary errors of the service."""
        started, wait = time.monotonic(), self._first_wait_s
        while True:
            pause = min(wait, LONGEST_WAIT_S) + random.uniform(0, self._first_wait_s)
            try:
                return self._ask(keywords, region)
            except AdapterError as error:
                if not error.retryable or time.monotonic() - started + pause >= self._wait_limit_s:
                    raise
            time.sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT_S)

    def _ask(self, keywords: str, region: str) -> Parsed:
        import httpx

        parameters = {"engine": ENGINE, "q": keywords, "kl": region, "api_key": self._key}
        try:
            response = self._client.get(URL, params=parameters)
        except httpx.HTTPError as error:
            kind = AdapterTrouble.TIMEOUT if isinstance(error, httpx.TimeoutException) else AdapterTrouble.CONNECTION
            text = f"web search: {type(error).__name__}: {self._without_key(str(error))}"
            raise AdapterError(kind, text, retryable=True) from None
        try:
            payload = response.json()
        except ValueError:
            payload = None
        if not isinstance(payload, dict):
            payload = {"error": f"status {response.status_code} without a JSON object"}
        self._raise_trouble(response.status_code, str(payload.get("error") or ""))
        return payload

    def _raise_trouble(self, status: int, error: str) -> None:
        """An error of the service itself; a search without results is none."""
        text = f"web search: SerpApi answered {status}: {self._without_key(error)[:300]}"
        about_us = any(word in error.lower() for word in _OURS)
        if "run out of searches" in error.lower():
            raise AdapterError(
                AdapterTrouble.QUOTA, text, status=status, advice="add searches to the account, then continue"
            )
        if status in (401, 403) or (status >= 400 and about_us and status != 429):
            raise AdapterError(AdapterTrouble.AUTH, text, status=status, advice=f"check {KEY_VARIABLE}")
        if status == 429 or "429" in error:
            raise AdapterError(
                AdapterTrouble.RATE_LIMIT, text, status=status, retryable=True, advice="continue the run later"
            )
        if status >= 500:
            raise AdapterError(AdapterTrouble.SERVER, text, status=status, retryable=True)

    def _without_key(self, text: str) -> str:
        return hide(text, (self._key,))


def organic_results(payload: Parsed) -> list[Parsed] | Parsed:
    """The organic results of an answer; an ``error`` without any."""
    found = payload.get("organic_results")
    if not isinstance(found, list):
        return {"error": f"The search found nothing: {str(payload.get('error') or 'no results')[:300]}"}
    names = {"title": "title", "link": "href", "snippet": "body"}
    return [{ours: item[theirs] for theirs, ours in names.items() if theirs in item} for item in found]


class _HideKey(logging.Filter):
    """Removes the key from log records."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true; a record with the key is changed."""
        text = record.getMessage()
        if (shown := hide(text, (self._key,))) != text:
            record.msg, record.args = shown, ()
        return True
