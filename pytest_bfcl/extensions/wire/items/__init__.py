"""The wire checks as items of pytest: nodes, who asks them, what they came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.wire.items.asking import WireChecks, checks_of
from pytest_bfcl.extensions.wire.items.nodes import WireContext, WireFile
from pytest_bfcl.extensions.wire.items.report import WireReport

if TYPE_CHECKING:
    import pytest

    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.run import Run


@dataclass(frozen=True)
class WireSet:
    """The set ``wire`` of a session (`pytest_bfcl.plugin.check_sets.CheckSet`)."""

    context: WireContext
    plugins: Mapping[str, object]

    def file(self, parent: pytest.Collector) -> WireFile:
        """``bfcl/wire.jsonl``."""
        return WireFile.make(parent, self.context)


def wire_checks(session: Session, contenders: Sequence[Contender], run: Run, only: frozenset[str] | None) -> WireSet:
    """The entry point. Raises `UsageError` for models without their own endpoint, and for unknown checks."""
    checks = WireChecks(session)
    plugins: dict[str, object] = {"bfcl-wire": checks}
    if not session.is_worker:
        plugins["bfcl-wire-report"] = WireReport(session, run)
    asked = checks_of(contenders, only, run.folder, session.settings)
    return WireSet(WireContext(asked, checks, only), plugins)
