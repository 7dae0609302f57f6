"""Messages for the user at the end of a session, and the reason for an early stop."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.plain_text import printable
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.session.estimate import skips_ahead

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet


NOTES = "bfcl_notes"
"""Key of a worker's last message to the controller."""
STOPPED = "the run stopped, the summary above has the reason"
"""pytest's last line of a stopped session; the summary has printed the full reason."""


class Notices:
    """Notes in order, and the first reason to stop. ``stopped`` is ``None`` while the session runs. ``controller`` is a
    worker's channel to the process that has the terminal.
    """

    def __init__(self, config: pytest.Config, controller: Any = None) -> None:
        self._config = config
        self._controller = controller
        self._saying = threading.Lock()
        self.notes: list[str] = []
        self.stopped: str | None = None
        self._said: set[str] = set()

    def note(self, text: str) -> None:
        """Print a line once, at the end."""
        if text not in self.notes:
            self.notes.append(text)

    def warn(self, text: str) -> None:
        """A note that is also a pytest warning."""
        if text not in self.notes:
            self.notes.append(text)
            self._config.issue_config_time_warning(pytest.PytestWarning(printable(text)), stacklevel=3)

    def say(self, text: str) -> None:
        """Print a line immediately and once; workers send it to the controller."""
        sign = re.sub(r"\d+", "", text)  # counts go up while it lasts
        with self._saying:  # what workers send arrives in a thread for each of them
            if sign in self._said:
                return
            self._said.add(sign)
            if self._controller is not None:
                with contextlib.suppress(OSError, EOFError):  # the controller is gone
                    self._controller.send(text)
                return
            self.tell(text)

    def tell(self, text: str) -> None:
        """Print a line immediately."""
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is None:
            return
        with pytest_internals.uncaptured(self._config):
            reporter.ensure_newline()
            pytest_internals.Sink(reporter).write_line(f"bfcl: {text}", yellow=True)

    def say_ahead(
        self, categories: Iterable[str], why: Callable[[str], str | None], data: DataSet, *, part: bool
    ) -> None:
        """Print which entries will be skipped, and whether the Overall score is possible; arguments of
        `skips_ahead`."""
        for line in skips_ahead(categories, why, data, part=part):
            self.say(line)

    def pytest_sessionfinish(self) -> None:
        """On a worker: the controller prints its notes."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[NOTES] = list(self.notes)

    def stop(self, why: str, *, summarised: bool = True) -> None:
        """Stop the run after the current item: exit code 2, all results are kept.

        ``summarised``: whether a summary will print the reason; otherwise pytest's last line does.
        """
        why = printable(why)
        self.stopped = self.stopped or why
        travels = hasattr(self._config, "workerinput")  # a worker's reason reaches the controller in this text
        pytest_internals.stop_session(self._config, why if travels or not summarised else STOPPED)
