"""What executed calls reach beside the model, brought by the extension that judges their category.

The place between a reply and its verdict where calls run: at the end of a conversation, or when a stored reply is
judged again. A transcript that has the results is left alone, so a stored run is judged by what it saw.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.checkers.plugged import CallServices, category_group

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.settings import Settings
    from pytest_bfcl.transcript import Transcript


CARRIED_OUT = ("executable", "rest", "sql")
"""Checkers of categories whose calls may have to be carried out."""


def is_executed(entry: Entry) -> bool:
    """Whether the verdict on this entry needs its calls carried out."""
    checker = entry.row.checker
    return checker in CARRIED_OUT and (checker != "sql" or entry.tables is not None)


class Services:
    """Worker processes and providers of one run: cheap to make, opened by the first call that needs them. Close it.

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

    @classmethod
    def of(cls, settings: Settings, *, official: bool, archive: Path | None = None, process: str = "main") -> Services:
        """The services a run's settings ask for."""
        return cls(settings.rest, official=official, archive=archive, process=process)

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def require(self, entry: Entry) -> None:
        """Raise `EntrySkipped` before a model is asked when the entry could not be judged: no recording, for one."""
        if is_executed(entry):
            self._services_of(entry).require(entry)

    def execute(self, entry: Entry, transcript: Transcript) -> Transcript:
        """Carry out the reply's calls and the ground truth's, unless the transcript has the results; returns it.

        Raises `EntrySkipped` when a recording is missing, `HarnessError` when the ground truth cannot be carried out.
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
