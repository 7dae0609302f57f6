"""Errors alike are shown once with how many entries ended so: thousands of equal lines hide the one that matters."""

from __future__ import annotations

import copy
import re
from collections.abc import Generator, Sequence
from typing import Any

import pytest

from pytest_bfcl.plugin.failure_repr import FailureRepr, place_of

ALIKE = 3
"""Errors alike that are still shown one by one."""
NAMED = 3
"""Entries that are named beside the first."""


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
    groups: dict[str, list[Any]] = {}
    for number, report in enumerate(reports):
        ours = isinstance(getattr(report, "longrepr", None), FailureRepr) and hasattr(report, "bfcl")
        groups.setdefault(_sign(report) if ours else f"#{number}", []).append(report)
    kept: list[Any] = []
    for group in groups.values():
        kept += [_told_once(group)] if len(group) > ALIKE else group
    return kept


def _told_once(group: Sequence[Any]) -> Any:
    first = copy.copy(group[0])
    ids = ", ".join(_entry_id(report) for report in group[1 : 1 + NAMED])
    more = len(group) - 1
    shown = f"{ids} …" if more > NAMED else ids
    text = f"{first.longrepr.text}\n  {len(group):,} entries ended so: this one, {shown}"
    message = f"{first.longrepr.reprcrash.message} ({len(group):,} entries)"
    first.longrepr = FailureRepr(text, message, place_of(first.longrepr))
    return first


def _sign(report: Any) -> str:
    return re.sub(r"\d+", "", report.longrepr.text.replace(_entry_id(report), ""))


def _entry_id(report: Any) -> str:
    return str(report.nodeid).rpartition("::")[2]
