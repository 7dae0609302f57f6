"""Failures by reason: pytest's short summary has a line for each failed test, which for a benchmark is thousands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_bfcl.plugin.failure_repr import FailureRepr

ALIKE = 3
"""Failures of one reason that are still listed one by one."""


class FoldedFailures:
    """Sets the entries' failures aside while pytest prints its short summary, and tells them by reason instead.

    Counts and the failures' own texts stay. With ``-vv``, or without ``f`` among ``-r``, pytest's list stands.
    """

    def __init__(self) -> None:
        self._failed: list[Any] | None = None
        self._groups: dict[str, list[Any]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Called when the failures have been printed, and the short summary has not."""
        failed = terminalreporter.stats.get("failed")
        if not failed or "f" not in terminalreporter.reportchars or terminalreporter.config.get_verbosity() > 1:
            return
        self._failed = failed
        terminalreporter.stats["failed"] = [report for report in failed if not _is_ours(report)]
        for report in filter(_is_ours, failed):
            self._groups.setdefault(report.longrepr.reprcrash.message, []).append(report)

    def put_back(self, terminalreporter: Any) -> None:
        """Undo it: what comes later counts them."""
        if self._failed is not None:
            terminalreporter.stats["failed"] = self._failed
            self._failed = None

    def lines(self) -> Iterator[str]:
        """A line a reason, the commonest first, with an entry that shows it; few of one reason a line each. Uncut."""
        for reason, found in sorted(self._groups.items(), key=lambda item: -len(item[1])):
            if len(found) > ALIKE:
                yield f"FAILED {reason}: {len(found):,}, e.g. {found[0].nodeid}"
            else:
                yield from (f"FAILED {report.nodeid} - {reason}" for report in found)


def _is_ours(report: Any) -> bool:
    return isinstance(getattr(report, "longrepr", None), FailureRepr) and hasattr(report, "bfcl")
