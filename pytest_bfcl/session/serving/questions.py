"""One short GET request to a server: no proxy, no redirect, bounded in size and time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


def get(url: str, *, timeout_s: float, most_bytes: int, headers: Mapping[str, str] | None = None) -> bytes | None:
    """The body of a 200 answer; ``None`` for any other, for a longer body, and when nothing answers in time.

    Bytes count as they travel: a compressed body stays compressed.
    """
    import httpx

    deadline = time.monotonic() + timeout_s
    body = bytearray()
    sent = {"Accept-Encoding": "identity", **(headers or {})}
    try:
        with _client().stream("GET", url, headers=sent, timeout=timeout_s) as answer:
            if answer.status_code != 200:
                return None
            for part in answer.iter_raw():
                body += part
                if len(body) > most_bytes or time.monotonic() > deadline:
                    return None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    return bytes(body)


@cache
def _client() -> httpx.Client:
    """One client, since each reads the certificates anew; no connection is kept, for servers start and stop."""
    import httpx

    return httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
