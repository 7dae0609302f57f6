"""The storage of one process in a run, and the services that conversations reach besides the model.

Services are search, workers and REST services of retired categories. The reporting process writes the result lines
(`pytest_bfcl.runs.directory.RunDirectory`). Connections get what the limit of open files (``ulimit -n``) leaves.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.conversation.services import Services, skip_reason
from pytest_bfcl.conversation.world import WEB
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import EntrySkipped, UsageError

if TYPE_CHECKING:
    from pytest_bfcl.conversation.journal import Journal, Snapshots
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.journal import Journal as JournalFiles
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.settings import Settings


class Store:
    """One process's files in a run directory; each is opened on first use.

    Args:
        path: The run directory; ``None`` keeps the run in memory.
        process: Name of this process in it. note: Receives notes for the user, for instance about a damaged line of an
            earlier part.
    """

    def __init__(
        self, path: Path | None = None, process: str = "main", note: Callable[[str], None] | None = None
    ) -> None:
        self.path = path
        self.process = process
        self._note = note or (lambda text: None)
        self._journal: JournalFiles | None = None
        self._snapshots: dict[tuple[str, int], Snapshots] = {}

    @property
    def journals(self) -> bool:
        """Whether replies are kept beyond this process."""
        return self.path is not None

    @cached_property
    def journal(self) -> Journal | None:
        """The replies of the run, those of its earlier parts included."""
        if self.path is None:
            return None
        from pytest_bfcl.runs.journal import Journal

        self._journal = Journal(self.path / "journal", self.process)
        for line in self._journal.damaged:
            self._note(f"damaged line: {line}; the reply on it is asked for again")
        return self._journal

    def snapshots(self, model: str, repeat: int) -> Snapshots:
        """The memories of one model and repeat."""
        key = (model, repeat)
        if key not in self._snapshots:
            from pytest_bfcl.runs.snapshots import snapshots_of

            held = HeldSnapshots() if self.path is None else snapshots_of(self.path, model, repeat)
            self._snapshots[key] = held
        return self._snapshots[key]

    def archive(self, kind: str) -> Path | None:
        """The folder of recorded pages and searches (``web``) or requests (``rest``)."""
        return self.path / kind if self.path is not None else None

    def close(self) -> None:
        """Flush and close; a later request opens the files again."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            del self.journal


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
        """
        if WEB not in entry.involved_classes:
            return None
        if self._given is not None:
            return self._given
        if id(data) not in self._search:
            from pytest_bfcl.providers import open_search, search_problem

            choice, archive = self._settings.search, self._store.archive("web")
            where: Any = {"official": data.official, "site": data.site, "archive": archive}
            if (problem := search_problem(choice, **where)) is not None:
                raise EntrySkipped("search", problem)
            self._search[id(data)] = open_search(choice, process=self._store.process, **where)
        return self._search[id(data)]

    def services(self, data: DataSet) -> Services:
        """The services that calls of retired categories reach; each starts on its first call."""
        if id(data) not in self._services:
            store = self._store
            self._services[id(data)] = Services(
                self._settings.rest, official=data.official, archive=store.archive("rest"), process=store.process
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
    return Outside(settings, Store()).search(entry, dataset)


RESERVE = 24
"""Files besides the connections: results, journal, pages, pipes of workers."""


def room_for(wanted: int) -> tuple[int, str]:
    """The number of wanted connections that fit, and a message if it is smaller.

    Raises the soft limit to the hard one if needed. Raises `UsageError` if none fits.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted, ""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = _open_files() + RESERVE
    if soft == resource.RLIM_INFINITY or taken + wanted <= soft:
        return wanted, ""
    raised = taken + wanted if hard == resource.RLIM_INFINITY else min(hard, taken + wanted)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    except (OSError, ValueError):
        raised = soft
    room = raised - taken
    if room >= wanted:
        return wanted, ""
    if room < 1:
        raise UsageError(f"this process may open {raised} files, too few for one request: raise it, ulimit -n 1024")
    return room, (
        f"this process may open {raised} files: {room} requests are in flight instead of {wanted} "
        f"(ulimit -n {taken + wanted} allows them)"
    )


def _open_files() -> int:
    """Number of files that are open now."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return len(os.listdir(folder))
    return RESERVE
