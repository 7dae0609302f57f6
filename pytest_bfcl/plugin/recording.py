"""Where a session's run lies, what earlier parts of it hold, and the `Run` that is made of both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.session.earlier import EarlierParts
from pytest_bfcl.session.run import Run

if TYPE_CHECKING:
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.session.contender import Contender


HOSTS = "how files of workers on other hosts travel"


def run_path(session: Session) -> Path:
    """Where the run is kept."""
    from pytest_bfcl.runs.directory import default_path

    if session.worker:
        return Path(session.worker["run"])
    base = session.config.invocation_params.dir
    return base / session.plan.out if session.plan.out else default_path(session.plan.models, base / "reports")


def earlier_parts(session: Session, path: Path) -> EarlierParts:
    """Results of earlier parts of the run; workers get them from the controller."""
    if session.worker:
        return EarlierParts.from_dict(session.worker["earlier"])
    return EarlierParts.read(path, session.notices.note)


def run_of(session: Session, path: Path, earlier: EarlierParts, contenders: Sequence[Contender]) -> Run:
    """The session's run; the controller writes it, unless it is a dry run."""
    return Run(
        session.data,
        contenders,
        session.settings,
        earlier,
        path=path,
        infos=session.model_info,
        model_info=session.plan.model_info,
        writes=not session.is_worker and not session.plan.dry_run,
    )


def opened(run: Run) -> RunDirectory | None:
    """Create or continue the run directory (controller only); raises `pytest.UsageError` when that cannot be."""
    try:
        return run.open()
    except (UsageError, HarnessError) as error:
        raise pytest.UsageError(str(error)) from None
