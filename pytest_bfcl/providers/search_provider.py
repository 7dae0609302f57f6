"""The protocol of search providers (agentic spec §5)."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pytest_bfcl.json_types import Parsed

KEY_VARIABLE = "SERPAPI_API_KEY"
"""Environment variable with the key of the live search."""


@runtime_checkable
class SearchProvider(Protocol):
    """Where searches and pages come from; called from several threads at once.

    What a model may receive (no results, page not found) is a result with the single key ``error``. Trouble that is not
    the model's (no key, quota used up, nothing recorded) raises `pytest_bfcl.failures.BenchmarkError`.
    """

    def search(self, keywords: str, max_results: int, region: str) -> list[Parsed] | Parsed:
        """Results, best first: objects with ``title``, ``href``, ``body``, without the keys the engine left out.

        ``max_results`` is a wish, the caller cuts; ``region`` is country-language, ``wt-wt`` for all.
        """
        ...

    def fetch(self, url: str, mode: str) -> Parsed:
        """A page as ``{"content": text}``; ``mode`` is ``raw``, ``markdown`` or ``truncate``."""
        ...

    def close(self) -> None:
        """Release connections and threads."""
        ...
