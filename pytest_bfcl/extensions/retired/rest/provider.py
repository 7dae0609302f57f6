"""Providers of REST answers: their protocol, and the recordings of a run (docs/retired.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlencode, urlsplit, urlunsplit

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.providers.recorded import Query, Recording


@runtime_checkable
class RestProvider(Protocol):
    """A source of answers to GET requests; called from several threads at once.

    ``live``: answers may change, fail or be missing, so a known request is tried first.
    """

    @property
    def live(self) -> bool:
        """Whether answers come from a service, which may change, fail, or differ from the entry's."""
        ...

    def get(self, url: str, params: Fields, headers: Mapping[str, str]) -> Parsed:
        """``{"status": number, "body": value or None}``; ``{"error": text}`` for an address that does not answer.

        ``body`` is the parsed JSON of the response. Raises `pytest_bfcl.failures.BenchmarkError` for infrastructure
        errors.
        """
        ...

    def close(self) -> None:
        """Release connections and threads."""
        ...


def whole_url(url: str, params: Fields) -> str:
    """The address with its query: lists repeat their name, ``None`` is left out, other values become text."""
    pairs = []
    for name, value in params.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(str(name), str(each)) for each in values if each is not None]
    if not pairs:
        return url
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode(pairs)) if part)
    return urlunsplit(parts._replace(query=query))


class RecordedRest(Recording):
    """Recorded answers first; other requests go to ``provider`` and are recorded.

    Without a provider (a replay) `get` raises `AdapterError` of kind ``not_recorded``.
    """

    what = "REST"

    def __init__(self, folder: Path, provider: RestProvider | None = None, process: str = "main") -> None:
        super().__init__(folder, process)
        self._provider = provider

    @property
    def live(self) -> bool:
        """Whether requests may reach a service."""
        return self._provider is not None and self._provider.live

    def get(self, url: str, params: Fields, headers: Mapping[str, str]) -> Parsed:
        """See `RestProvider.get`."""
        asked = self._provider
        named = {name.lower(): value for name, value in sorted(headers.items())}
        result = self._result(
            ("get", whole_url(url, params), named), (lambda: asked.get(url, params, headers)) if asked else None
        )
        return result if isinstance(result, dict) else {"error": "the recording holds no response"}

    def called(self, name: str, arguments: Fields) -> tuple[Any] | None:
        """The recorded value of a network function in a tuple, ``None`` without one."""
        return self.find(("call", name, dict(sorted(arguments.items()))))

    def _key(self, call: Query) -> str:
        return super()._key(tuple(map(_whole, call)))

    def close(self) -> None:
        """Close the provider; files are closed after every line."""
        if self._provider is not None:
            self._provider.close()


def _whole(value: object) -> Any:
    """Makes 90.0 and 90 the same argument."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    return value
