"""Equal errors and failures are shown once in the terminal's summary: a benchmark may have thousands of one kind."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pytest

from pytest_bfcl.explaining.folding import ALIKE, alike, ids_text, sign_of
from pytest_bfcl.plugin.failure_repr import FailureRepr, place_of


class FoldedErrors:
    """Folds entries' errors in the terminal's summary; counts, exit code and files stay what they are."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        """Let the summary print each kind of error once (all of them with ``-vv``)."""
        errors = terminalreporter.stats.get("error")
        if not errors or terminalreporter.config.get_verbosity() > 1:
            return (yield)
        terminalreporter.stats["error"] = folded(errors)
        try:
            return (yield)
        finally:
            terminalreporter.stats["error"] = errors


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


def folded(reports: Sequence[Any]) -> list[Any]:
    """The reports with those of entries that ended in the same error, the ids aside, told by the first of them."""
    kept: list[Any] = []
    for group in alike(reports, _sign):
        kept += [_folded_report(group)] if len(group) > 1 else group
    return kept


def _folded_report(group: Sequence[Any]) -> Any:
    first = copy.copy(group[0])
    others = ids_text([_entry_id(report) for report in group[1:]])
    text = f"{first.longrepr.text}\n  {len(group):,} entries ended with this error: this one, {others}"
    message = f"{first.longrepr.reprcrash.message} ({len(group):,} entries)"
    first.longrepr = FailureRepr(text, message, place_of(first.longrepr))
    return first


def _sign(report: Any) -> str:
    """What makes reports alike; what is no entry's error is like nothing else."""
    return sign_of(report.longrepr.text, _entry_id(report)) if _is_ours(report) else f"#{id(report)}"


def _entry_id(report: Any) -> str:
    return str(report.nodeid).rpartition("::")[2]
