"""What a person should read at the end of a session, and why it stops early."""

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
"""pytest's last line of a stopped session; the whole reason would be printed a second time."""


class Notices:
    """Notes in the order they came up, and the first reason to stop.

    ``stopped`` stays ``None`` while nothing has stopped the session. ``controller`` is a worker's channel to the
    process that has the terminal.
    """

    def __init__(self, config: pytest.Config, controller: Any = None) -> None:
        self._config = config
        self._controller = controller
        self._saying = threading.Lock()
        self.notes: list[str] = []
        self.stopped: str | None = None
        self._said: set[str] = set()

    def note(self, text: str) -> None:
        """Have a line printed at the end, once."""
        if text not in self.notes:
            self.notes.append(text)

    def warn(self, text: str) -> None:
        """A note that is worth a warning of pytest's too."""
        if text not in self.notes:
            self.notes.append(text)
            self._config.issue_config_time_warning(pytest.PytestWarning(printable(text)), stacklevel=3)

    def say(self, text: str) -> None:
        """Print a line now, in the middle of an item, once; workers send it to the controller."""
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
        """Print a line now."""
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is None:
            return
        with pytest_internals.uncaptured(self._config):
            reporter.ensure_newline()
            pytest_internals.Sink(reporter).write_line(f"bfcl: {text}", yellow=True)

    def say_ahead(
        self, categories: Iterable[str], why: Callable[[str], str | None], data: DataSet, *, part: bool
    ) -> None:
        """Print which entries will be skipped and whether Overall can be claimed; arguments as for `skips_ahead`."""
        for line in skips_ahead(categories, why, data, part=part):
            self.say(line)

    def pytest_sessionfinish(self) -> None:
        """On a worker: the controller prints what came up here."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[NOTES] = list(self.notes)

    def stop(self, why: str, *, summarised: bool = True) -> None:
        """Let the run stop after the current item: exit code 2, everything so far is kept.

        ``summarised``: whether a summary will print the reason; otherwise pytest's last line does.
        """
        why = printable(why)
        self.stopped = self.stopped or why
        travels = hasattr(self._config, "workerinput")  # a worker's reason reaches the controller in this text
        pytest_internals.stop_session(self._config, why if travels or not summarised else STOPPED)
