"""What a category needs besides a model, and the services of executed calls, which extensions provide.

Calls run between a reply and its verdict: at the end of a conversation, or when a stored reply is judged again. A
transcript with results stays unchanged, so a stored run is judged by its own results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl import entry_points, extras
from pytest_bfcl.checkers.plugged import CallServices, category_group, missing_group
from pytest_bfcl.dataset.categories import CATEGORIES, ELSEWHERE
from pytest_bfcl.failures import UsageError
from pytest_bfcl.transcript import Mode

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.settings import Settings
    from pytest_bfcl.transcript import Transcript


CARRIED_OUT = ("executable", "rest", "sql")
"""Checkers of categories whose calls may have to be executed."""


def is_executed(entry: Entry) -> bool:
    """Whether the verdict on this entry needs its calls executed."""
    checker = entry.row.checker
    return checker in CARRIED_OUT and (checker != "sql" or entry.tables is not None)


class Services:
    """Worker processes and providers of one run: cheap to make, opened on the first call. Close it.

    Args:
        rest: ``auto``, ``local``, ``live``, ``record``, ``replay`` or ``replay:PATH`` (docs/retired.md).
        official: Whether the data is the official set.
        archive: The run's folder of recorded requests.
        process: Name of the file this process records to.
    """

    def __init__(
        self, rest: str = "auto", *, official: bool = False, archive: Path | None = None, process: str = "main"
    ) -> None:
        self._open: Callable[[str], CallServices] = lambda group: category_group(group).open_services(
            rest, official=official, archive=archive, process=process
        )
        self._opened: dict[str, CallServices] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def require(self, entry: Entry) -> None:
        """Raise `EntrySkipped` before a request if the entry could not be judged, for instance without a recording."""
        if is_executed(entry):
            self._services_of(entry).require(entry)

    def execute(self, entry: Entry, transcript: Transcript) -> Transcript:
        """Execute the reply's calls and the ground truth's, unless the transcript has the results; returns it. Raises
        `EntrySkipped` if a recording is missing, `HarnessError` if the ground truth cannot be executed.
        """
        if is_executed(entry) and transcript.steps and not transcript.steps[0].results:
            return self._services_of(entry).execute(entry, transcript)
        return transcript

    def close(self) -> None:
        """End workers and servers."""
        with self._lock:
            while self._opened:
                self._opened.popitem()[1].close()

    def _services_of(self, entry: Entry) -> CallServices:
        group = entry.row.group
        with self._lock:
            if group not in self._opened:
                self._opened[group] = self._open(group)
            return self._opened[group]


def skip_reason(
    category: str,
    dataset: DataSet,
    settings: Settings,
    modes: Collection[Mode],
    archive: Path | None = None,
    *,
    stored: bool = False,
) -> str | None:
    """Why a category cannot run here, with the remedy; else ``None``. ``modes`` are those of the models; ``archive`` is
    the run's folder of recorded searches. ``stored``: the conversations are recorded ones, which call no tools. A
    category that lacks something is skipped and never scores 0.
    """
    row = CATEGORIES.get(category)
    if row is None:  # the checks of the server need nothing
        return None
    if category == "format_sensitivity" and all(mode == "fc" for mode in modes):
        return "format sensitivity is about calls written as text: use --model …@prompt"
    if stored:
        return None
    if row.group == "web_search":
        from pytest_bfcl.providers import search_problem

        return search_problem(settings.search, official=dataset.official, site=dataset.site, archive=archive)
    if row.name == "mcp":
        return _server_problem(settings)
    if row.checker in ELSEWHERE:
        recorded = archive.parent / "rest" if archive is not None else None
        return missing_group(row.group) or category_group(row.group).problem(
            row.checker, settings.rest, official=dataset.official, archive=recorded
        )
    return memory_problem(row.backend) if row.backend else None


def memory_problem(backend: str) -> str | None:
    """Why a memory is not available here; else ``None``."""
    from pytest_bfcl.simulators import simulator_class

    try:
        return simulator_class(f"MemoryAPI_{backend}").problem()
    except UsageError as error:
        return str(error)


NO_SERVERS = "entries on an MCP server need an extension that is not installed here: install pytest-bfcl as a whole"


def _server_problem(settings: Settings) -> str | None:
    """Why no MCP server of the user can be used; else ``None``."""
    if entry_points.find("worlds", "mcp") is None:
        return NO_SERVERS
    if not settings.mcp:
        return 'entries on an MCP server need one: --bfcl-mcp NAME="COMMAND or URL"'
    return f"entries on an MCP server need its SDK: {extras.install_command('mcp')}" if extras.missing("mcp") else None
