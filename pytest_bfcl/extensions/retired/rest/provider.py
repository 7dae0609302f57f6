"""The protocol of REST providers, and how a request's address is written (docs/retired.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable
from urllib.parse import urlencode, urlsplit, urlunsplit

from pytest_bfcl.json_types import Fields, Parsed


@runtime_checkable
class RestProvider(Protocol):
    """Where GET requests are answered; called from several threads at once.

    ``live`` says whether a known request is tried before a model is asked: answers may change, fail, or not be there.
    """

    @property
    def live(self) -> bool:
        """Whether answers come from a service, which may change, fail, or be another than the entry asks."""
        ...

    def get(self, url: str, params: Fields, headers: Mapping[str, str]) -> Parsed:
        """``{"status": number, "body": value or None}``; ``{"error": text}`` for an address that cannot be asked.

        ``body`` is the parsed JSON of the response. Raises `pytest_bfcl.failures.BenchmarkError` for trouble that is
        not the caller's.
        """
        ...

    def close(self) -> None:
        """Release connections and threads."""
        ...


def whole_url(url: str, params: Fields) -> str:
    """The address with its query: lists repeat their name, ``None`` is left out, the rest is written as text."""
    pairs = []
    for name, value in params.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(str(name), str(each)) for each in values if each is not None]
    if not pairs:
        return url
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode(pairs)) if part)
    return urlunsplit(parts._replace(query=query))
