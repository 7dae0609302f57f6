"""WebSearchAPI: a search engine and a page reader over a given provider (agentic spec §5).

This class only shapes results; the provider (`pytest_bfcl.providers`) reaches the web.
"""

from __future__ import annotations

from typing import Any, Protocol

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.toolkit import Simulator, tool
from pytest_bfcl.troubles import HarnessTrouble

MODES = ("raw", "markdown", "truncate")


class Outside(Protocol):
    """The required part of a provider; see `pytest_bfcl.providers.SearchProvider`."""

    def search(self, keywords: str, max_results: int, region: str) -> list[Parsed] | Parsed:
        """Results with ``title``, ``href``, ``body`` (missing ones are left out), or an object with ``error``."""
        ...

    def fetch(self, url: str, mode: str) -> JsonObject:
        """An object with ``content``, or with ``error`` if the page is not available."""
        ...


class WebSearchAPI(Simulator):
    """``config``: ``show_snippet``, whether results have the text around the found words (default true). ``provider``
    (context) is an `Outside`. Its infrastructure error, a `BenchmarkError`, is not shown to the model.
    """

    name = "WebSearchAPI"
    summary = "The web: a search engine and a reader of pages."
    blocking = True  # a page may take seconds

    def load(
        self,
        config: Parsed,
        *,
        long_context: bool = False,
        texts: Fields | None = None,
        provider: Outside | None = None,
        **context: Any,
    ) -> None:
        """Set the state; there is no long-context variant."""
        self.show_snippet = config.get("show_snippet", True)
        self._provider = provider

    @tool(writes=False)
    def search_engine_query(self, keywords: str, max_results: int = 10, region: str = "wt-wt") -> Any:
        """Search the web and list the pages found, best first, each with title and address (and often an excerpt).

        Args:
            keywords: Words to search for.
            max_results: How many pages to list at most.
            region: Country and language to search in, for instance `us-en`; `wt-wt` for all.
        """
        found = self._outside().search(keywords, max_results, region)
        if isinstance(found, dict):
            return self.fails("search_engine_query.nothing", str(found.get("error")))
        names = {"title": "title", "href": "link"} | ({"body": "snippet"} if self.show_snippet else {})
        for result in found[:max_results]:
            if missing := next((name for name in names if name not in result), None):
                raise KeyError(names[missing])  # the search engine's own word for it
        return [{name: result[name] for name in names} for result in found[:max_results]]

    @tool(writes=False)
    def fetch_url_content(self, url: str, mode: str = "raw") -> JsonObject:
        """Read a page of the web.

        Args:
            url: Address of the page, with `http://` or `https://`.
            mode: How to return it: `raw` for the source, `markdown` for Markdown, `truncate` for the visible text only.

        Returns:
            content (string): The page.
        """
        if not url.startswith(("http://", "https://")):
            own = f"{url[:200]!r} is no web address: it must begin with http:// or https://"
            raise ValueError(self.say("fetch_url_content.address", own, url))
        page = self._outside().fetch(url, mode if mode in MODES else MODES[0])
        if (why := page.get("error")) is None and mode not in MODES:
            why = self.say("fetch_url_content.mode", f"there is no mode {mode!r:.100} ({', '.join(MODES)})", mode)
        if why is None:
            return page
        why = str(why)
        return self.fails("fetch_url_content.failed", f"Cannot fetch {url[:300]}: {why}", url, why)

    def _outside(self) -> Outside:
        if self._provider is None:
            raise HarnessError(
                HarnessTrouble.SEARCH, "there is no search provider", advice="select one with --bfcl-search"
            )
        return self._provider
