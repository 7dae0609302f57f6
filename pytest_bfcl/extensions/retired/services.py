"""What executed calls reach beside the model: worker processes for functions and SQL, a provider for REST.

Cheap to make: workers and servers start with the first call that needs them. One per run; close it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.failures import EntrySkipped
from pytest_bfcl.json_types import Fields

if TYPE_CHECKING:
    from pytest_bfcl.extensions.retired.execution.pool import Executor
    from pytest_bfcl.extensions.retired.rest.provider import RestProvider

RECORDING = "needs a recorded provider"


class Services:
    """Worker processes and providers of one run.

    Args:
        rest: ``auto``, ``local``, ``live``, ``record``, ``replay`` or ``replay:PATH`` (`.rest.choice`).
        official: Whether the data is the official set.
        archive: The run's folder of recorded requests.
        process: Name of the file this process records to.
    """

    def __init__(
        self, rest: str = "auto", *, official: bool = False, archive: Path | None = None, process: str = "main"
    ) -> None:
        self._choice = rest
        self._official = official
        self._archive = archive
        self._process = process
        self._executor: Executor | None = None
        self._rest: RestProvider | None = None
        self._recording: Any = None
        self._lock = threading.Lock()
        self.checked: dict[str, str | None] = {}
        """Entry id → why its live service failed the check before asking, ``None`` when it held."""

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def executor(self) -> Executor:
        """The worker processes."""
        from pytest_bfcl.extensions.retired.execution.pool import Executor

        with self._lock:
            if self._executor is None:
                self._executor = Executor()
            return self._executor

    def rest_problem(self) -> str | None:
        """Why GET requests cannot be answered, or ``None``."""
        from pytest_bfcl.extensions.retired.rest.choice import rest_problem

        return rest_problem(self._choice, official=self._official, archive=self._archive)

    @property
    def rest(self) -> RestProvider:
        """The provider of GET requests; raises `EntrySkipped` when there is none."""
        from pytest_bfcl.extensions.retired.rest.choice import open_rest

        with self._lock:
            if self._rest is None:
                problem = self.rest_problem()
                if problem is not None:
                    raise EntrySkipped("recording", problem)
                self._rest = open_rest(
                    self._choice, official=self._official, archive=self._archive, process=self._process
                )
            return self._rest

    def recorded_value(self, name: str, arguments: Fields) -> tuple[Any] | None:
        """The recorded value of a network-backed function in a tuple, ``None`` when nothing is recorded."""
        from pytest_bfcl.extensions.retired.rest.choice import recording_folder
        from pytest_bfcl.extensions.retired.rest.provider import RecordedRest

        with self._lock:
            if self._recording is None:
                folder = recording_folder(self._choice, self._archive)
                self._recording = RecordedRest(folder) if folder is not None and folder.is_dir() else False
        return self._recording.called(name, arguments) if self._recording else None

    def close(self) -> None:
        """End workers and servers."""
        with self._lock:
            for each in (self._executor, self._rest):
                if each is not None:
                    each.close()
            self._executor = self._rest = None
