"""What a person should read at the end of a session, and why it stops early."""

from __future__ import annotations

import re

import pytest

from pytest_bfcl.plugin import pytest_internals

NOTES = "bfcl_notes"
"""Key of a worker's last message to the controller."""


class Notices:
    """Notes in the order they came up, and the first reason to stop.

    ``stopped`` stays ``None`` while nothing has stopped the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
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
            self._config.issue_config_time_warning(pytest.PytestWarning(text), stacklevel=3)

    def say(self, text: str) -> None:
        """Print a line now, in the middle of an item, once; workers have no terminal."""
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        sign = re.sub(r"\d+", "", text)  # counts go up while it lasts
        if reporter is None or sign in self._said:
            return
        self._said.add(sign)
        with pytest_internals.uncaptured(self._config):
            reporter.ensure_newline()
            reporter.write_line(f"bfcl: {text}", yellow=True)

    def pytest_sessionfinish(self) -> None:
        """On a worker: the controller prints what came up here."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[NOTES] = list(self.notes)

    def stop(self, why: str) -> None:
        """Let the run stop after the current item: exit code 2, everything so far is kept."""
        self.stopped = self.stopped or why
        pytest_internals.stop_session(self._config, why)
