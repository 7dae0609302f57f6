"""Errors alike are shown once in the terminal's summary, with how many entries ended so."""

from __future__ import annotations

import copy
from collections.abc import Generator, Sequence
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


def folded(reports: Sequence[Any]) -> list[Any]:
    """The reports with those of entries that ended in the same error, the ids aside, told by the first of them."""
    kept: list[Any] = []
    for group in alike(reports, _sign):
        kept += [_folded_report(group)] if len(group) > ALIKE else group
    return kept


def _folded_report(group: Sequence[Any]) -> Any:
    first = copy.copy(group[0])
    others = ids_text([_entry_id(report) for report in group[1:]])
    text = f"{first.longrepr.text}\n  {len(group):,} entries ended so: this one, {others}"
    message = f"{first.longrepr.reprcrash.message} ({len(group):,} entries)"
    first.longrepr = FailureRepr(text, message, place_of(first.longrepr))
    return first


def _sign(report: Any) -> str:
    """What makes reports alike; what is no entry's error is like nothing else."""
    if not isinstance(getattr(report, "longrepr", None), FailureRepr) or not hasattr(report, "bfcl"):
        return f"#{id(report)}"
    return sign_of(report.longrepr.text, _entry_id(report))


def _entry_id(report: Any) -> str:
    return str(report.nodeid).rpartition("::")[2]
