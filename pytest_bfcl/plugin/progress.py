"""How far a long run is: one line now and then on a terminal, nothing in CI."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.plugin.sink import Sink

if TYPE_CHECKING:
    from pytest_bfcl.session.run import Run

FIRST_S = 3.0
EVERY_S = 10.0


class Progress:
    """Prints rate, remaining time, errors and cost at most every ten seconds."""

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self._config = config
        self._run = run
        self._started = time.monotonic()
        self._next = self._started + FIRST_S

    def see(self) -> None:
        """After a finished entry, say where the run stands, if it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or not reporter.isatty or os.environ.get("CI"):
            return
        self._next = now + EVERY_S
        reporter.ensure_newline()
        Sink(reporter).write_line(self.line(now))

    def line(self, now: float) -> str:
        """``bfcl: 320 of 1390, 6.1/s, 2:55 left, 81.2 % correct, 2 errors, 0.41 USD``."""
        counts, total = self._run.counts, self._run.planned - len(self._run.earlier.settled)
        done = counts.total()
        rate = done / max(now - self._started, 1e-9)
        judged = counts["passed"] + counts["failed"]
        parts = [f"bfcl: {done} of {total}", f"{rate:.1f}/s"]
        if rate > 0 and total > done:
            minutes, seconds = divmod(round((total - done) / rate), 60)
            parts.append(f"{minutes}:{seconds:02} left")
        if judged:
            parts.append(f"{100 * counts['passed'] / judged:.1f} % correct")
        if counts["error"]:
            parts.append(f"{counts['error']} errors")
        if self._run.cost_usd:
            parts.append(f"{self._run.cost_usd:.2f} USD")
        return ", ".join(parts)
