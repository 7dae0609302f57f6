"""Saves memory in long sessions: small reports of entries after all hooks, fewer garbage collections.

pytest keeps every report until the end, three an item: at 10⁵ entries that is a gigabyte on the process that reports.
The records are in ``results.jsonl`` by then. Python's garbage collector: `pytest_bfcl.collector`.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from typing import Any, Literal

import pytest

from pytest_bfcl.collector import fewer_collections
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.data import category_at

_NO_KEYWORDS: Mapping[str, Literal[1]] = {}
_PRINTING = frozenset("ApP")
"""Characters of ``-r`` for which pytest prints reports of passed tests."""


class KeptReports:
    """Replaces the reports of passed entries by small ones.

    ``--durations`` keeps its numbers, and plugins find counts and names of passed tests. Output, keywords, properties
    and the record go. With ``-rA``, ``-rp`` or ``-rP``, which print them, everything stays.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._counted: dict[str, list[Any]] | None = None
        self._prints = bool(_PRINTING & set(config.getoption("reportchars", None) or ""))
        self._timed = config.getoption("durations", None) is not None
        self._are_entries: dict[str, bool] = {}
        """By file."""

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Runs after the terminal counted the report. The report object is not changed, because others (pytest-html)
        may hold it."""
        if report.outcome != "passed" or self._prints or hasattr(report, "wasxfail"):
            return
        file = report.location[0]
        if file not in self._are_entries:
            self._are_entries[file] = category_at(report.nodeid) is not None
        if not self._are_entries[file]:
            return
        if self._counted is None:
            self._counted = pytest_internals.counted(self._config)
        kept = _small(report) if self._timed or report.when == "call" else None
        for category in ("passed", ""):  # the terminal has just counted it
            held = self._counted.get(category)
            if held and held[-1] is report:  # a passed setup or teardown, which is counted nowhere, may go
                held[-1:] = () if kept is None else (kept,)


def _small(report: pytest.TestReport) -> pytest.TestReport:
    path, line, name = report.location
    named = getattr(report, "id", report.nodeid)  # pytest 9.2 has parsed it once
    place = (sys.intern(path), line, name)
    return pytest.TestReport(named, place, _NO_KEYWORDS, "passed", None, report.when, duration=report.duration)


class GcThresholds:
    """Sets the collector's thresholds while items run; afterwards the old ones apply.

    A process that ends with the session searches everything once more at its end. There the modules and other objects
    from before the items are left out, which are most.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._ends = hasattr(config, "workerinput") or is_whole_command(config)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Around all items."""
        with fewer_collections(to_the_end=self._ends):
            return (yield)


def is_whole_command(config: pytest.Config) -> bool:
    """Whether the process was started for this session, not by a program that calls pytest."""
    return list(config.invocation_params.args) == sys.argv[1:]
