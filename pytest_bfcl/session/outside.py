"""Services that conversations reach besides the model: search, workers and REST services of retired categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bfcl.conversation.services import Services, searches, skip_reason
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import EntrySkipped

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.store import Store
    from pytest_bfcl.settings import Settings


class Outside:
    """Providers of one run in one process, one per data set, opened on first use.

    ``given`` is a search provider of the caller's, who closes it.
    """

    def __init__(self, settings: Settings, store: Store, given: object = None) -> None:
        self._settings = settings
        self._store = store
        self._given = given
        self._search: dict[int, Any] = {}
        self._services: dict[int, Services] = {}
        self._reasons: dict[tuple[str, int, str, bool], str | None] = {}

    def skip_reason(self, category: str, data: DataSet, contender: Contender) -> str | None:
        """Why the entries of a category cannot be run with a contender, ``None`` when they can."""
        stored, mode = contender.stored, contender.mode
        key = (category, id(data), mode, stored)
        if stored and (lacks := getattr(contender.model, "lacks", None)) and (why := lacks(category)):
            return str(why)
        if key not in self._reasons:
            provided = stored or (self._given is not None and CATEGORIES[category].group == "web_search")
            archive = self._store.archive("web")
            self._reasons[key] = skip_reason(category, data, self._settings, [mode], archive, stored=provided)
        return self._reasons[key]

    def search(self, entry: Entry, data: DataSet) -> Any:
        """The provider of an entry's web tools; ``None`` for an entry without them. Raises `EntrySkipped` if there is
        none.

        Raises `EntrySkipped` when there is no provider.
        """
        if not searches(entry.involved_classes):
            return None
        if self._given is not None:
            return self._given
        if id(data) not in self._search:
            self._search[id(data)] = self._opened_search(data)
        return self._search[id(data)]

    def _opened_search(self, data: DataSet) -> Any:
        from pytest_bfcl.providers import open_search, search_problem

        choice, archive = self._settings.search, self._store.archive("web")
        problem = search_problem(choice, official=data.official, site=data.site, archive=archive)
        if problem is not None:
            raise EntrySkipped("search", problem)
        return open_search(choice, official=data.official, site=data.site, archive=archive, process=self._store.process)

    def services(self, data: DataSet) -> Services:
        """The services that calls of retired categories reach; each starts on its first call."""
        if id(data) not in self._services:
            self._services[id(data)] = Services.of(
                self._settings,
                official=data.official,
                archive=self._store.archive("rest"),
                process=self._store.process,
            )
        return self._services[id(data)]

    def close(self) -> None:
        """End providers, servers and workers."""
        for each in (*self._search.values(), *self._services.values()):
            each.close()
        self._search.clear()
        self._services.clear()


def search_behind(dataset: DataSet, entry: Entry, settings: Settings) -> object:
    """The provider of an entry's web tools, if it has them; its results are not stored."""
    from pytest_bfcl.session.store import Store

    return Outside(settings, Store()).search(entry, dataset) if entry.involved_classes else None
