"""What is kept of the reports of entries once everybody has heard of them.

pytest keeps every report until the end, three an item: at 10⁵ entries that is a gigabyte on the process that reports.
The records are in ``results.jsonl`` by then.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Literal

import pytest

from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.data import category_at

_NO_KEYWORDS: Mapping[str, Literal[1]] = {}
_PRINTING = frozenset("ApP")
"""Characters of ``-r`` for which pytest prints reports of passed tests."""


class KeptReports:
    """Puts small reports in the place of those of entries that passed.

    ``--durations`` has its numbers, and whoever counts or names passed tests at the end finds them; what is gone are
    output, keywords, properties and the record. With ``-rA``, ``-rp`` or ``-rP``, which print them, all stays.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._prints = bool(_PRINTING & set(config.getoption("reportchars", None) or ""))
        self._timed = config.getoption("durations", None) is not None
        self._latest: tuple[str, bool] = "", False  # a node id, and whether it is an entry's: three reports an item

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """After the terminal has counted it. The report itself stays as it is: others (pytest-html) may hold it."""
        if report.outcome != "passed" or self._prints or hasattr(report, "wasxfail"):
            return
        if report.nodeid != self._latest[0]:
            self._latest = report.nodeid, category_at(report.nodeid) is not None
        if self._latest[1]:
            kept = _small(report) if self._timed or report.when == "call" else None
            pytest_internals.replace_counted(self._config, report, kept)


def _small(report: pytest.TestReport) -> pytest.TestReport:
    path, line, name = report.location
    named = getattr(report, "id", report.nodeid)  # pytest 9.2 has parsed it once
    place = (sys.intern(path), line, name)
    return pytest.TestReport(named, place, _NO_KEYWORDS, "passed", None, report.when, duration=report.duration)
