"""Checks that packages add, as separate items (entry points ``pytest_bfcl.checks``).

A set stands in the virtual file ``bfcl/<name>.jsonl`` and under the mark ``<name>``; nothing of it enters an accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import pytest

from pytest_bfcl import entry_points

if TYPE_CHECKING:
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.run import Run


class CheckFile(pytest.File):
    """The file node of a set; there is no such file."""


class CheckSet(Protocol):
    """What an entry point makes of ``(session, contenders, run, only)``.

    ``only``: the checks named on the command line, with or without a label; ``None``: all.
    """

    @property
    def plugins(self) -> Mapping[str, object]:
        """Name → hooks, for the time of the session."""

    def file(self, parent: pytest.Collector) -> CheckFile:
        """The node that collects the set's items."""


def check_set(
    name: str, session: Session, contenders: Sequence[Contender], run: Run, only: frozenset[str] | None
) -> CheckSet:
    """The set of that name. Raises `UsageError` where it cannot be had, or cannot be asked of these models."""
    make = entry_points.load(entry_points.offered("checks")[name], "checks")
    found: CheckSet = make(session, contenders, run, only)
    return found
