"""How a session ends: summary, gates, one exit code (contract §7), reports."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.data import category_at
from pytest_bfcl.plugin.gating import JUDGED, SessionGates

if TYPE_CHECKING:
    from pytest_bfcl.plugin.results import Results
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.plugin.termination import Termination
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.summary_types import Summary
    from pytest_bfcl.session.run import Run

INTERRUPTED = "interrupted"
HURRIED_S = 5.0
"""The longest wait for the report after Ctrl-C."""
MAXFAIL = "stopping after "
"""How messages of pytest and xdist begin if ``-x`` or ``--maxfail`` stopped a session."""


class SessionEnd:
    """The end of the session, on the controller."""

    def __init__(
        self,
        session: Session,
        run: Run,
        results: Results,
        termination: Termination,
    ) -> None:
        self._session = session
        self._notices = session.notices
        self._run = run
        self._results = results
        self._termination = termination
        self.gates = SessionGates(session, run)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Summarise, check the gates, set the exit code, close the run."""
        run = self._run
        if self._termination.was_requested and session.exitstatus in JUDGED:  # after the last item
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        if run.directory is None:
            return
        refused = session.exitstatus == pytest.ExitCode.USAGE_ERROR
        if not run.counts and (refused or (session.exitstatus in JUDGED and not self._has_work())):
            run.write_or_note(run.withdraw)
            return
        stopped = self._stopped(session)
        if stopped is None and (unanswered := run.unanswered()) is not None:
            stopped = self._notices.stopped = unanswered
        run.end(stopped)
        summary = run.close(judge=session.exitstatus in JUDGED or self._is_finished_again(session))
        self._termination.kept = True
        code = self._exit_code(session, stopped)
        if self._session.plan.write_expected is not None:
            run.write_expected(self._session.plan.write_expected, self._session.config.invocation_params.dir)
        self._session.config.hook.pytest_bfcl_summary(summary=summary)
        self._tell_listeners(run.directory, summary)
        by_hand = stopped == INTERRUPTED and session.exitstatus == pytest.ExitCode.INTERRUPTED
        self._write_report(run.directory, HURRIED_S if by_hand or self._termination.was_requested else None)
        self._write_step_summary(summary)
        run.write_or_note(run.release)
        for note in run.notes:
            self._notices.note(note)
        if run.unkept:
            self._notices.stopped = self._notices.stopped or run.unkept
            code = pytest.ExitCode.INTERRUPTED
        if code is not None:
            session.exitstatus = code

    def _has_work(self) -> bool:
        """Whether something was selected, or is in earlier parts; workers start before that is known."""
        here = bool(self._session.data.checks) or any(map(category_at, self._results.planned))
        return here or bool(self._run.earlier.settled)

    def _stopped(self, session: pytest.Session) -> str | None:
        """Why the run ended early, or ``None``."""
        elsewhere = pytest_internals.distributed_stop(self._session.config)
        reasons = (self._notices.stopped, session.shouldfail, session.shouldstop, elsewhere)
        reason = next((reason for reason in reasons if reason), None)
        planned, reported = self._results.planned, self._run.counts.total()
        cut = reported < len(planned) and reported < sum(map(bool, map(category_at, planned)))
        early = not planned and session.exitstatus == pytest.ExitCode.INTERRUPTED  # while items were being found
        if reason is None and (cut or early):
            reason = INTERRUPTED
        if reason is not None and self._notices.stopped is None:
            self._notices.stopped = str(reason)
        return str(reason) if reason is not None else None

    def _is_finished_again(self, session: pytest.Session) -> bool:
        """Whether a run that was named again had nothing left to send."""
        return session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and bool(self._run.earlier.settled)

    def _exit_code(self, session: pytest.Session, stopped: str | None) -> int | None:
        """The gates' verdict as exit code, or ``None`` to keep pytest's."""
        if stopped and stopped.startswith(MAXFAIL):  # -x: no verdict; xdist would call it an interruption
            return pytest.ExitCode.TESTS_FAILED
        if stopped:
            return pytest.ExitCode.INTERRUPTED if session.exitstatus in JUDGED else None
        if self._is_finished_again(session):
            return self._run.exit_code(self._run.stored_code, self.troubles)
        if not self.gates.options.wants_verdict or session.exitstatus not in JUDGED:
            return None
        return self._run.exit_code(int(session.exitstatus), self.troubles)

    @property
    def troubles(self) -> list[str]:
        """What fails the session even if its gates are met: other tests."""
        count = self._results.foreign_failures
        return [f"{count} other tests failed"] if count else []

    def _write_report(self, run: RunDirectory, within_s: float | None) -> None:
        from pytest_bfcl.reporting.report import write_report_and_say

        _, told = write_report_and_say(run, self._session.plan.report, self._session.data.measured, within_s)
        if told:
            self._notices.note(told)

    def _write_step_summary(self, summary: Summary) -> None:
        """The summary as Markdown, for GitHub's job page."""
        from pytest_bfcl.reporting.markdown import append_step_summary

        if trouble := append_step_summary(summary, os.environ):
            self._notices.note(trouble)

    def _tell_listeners(self, run: RunDirectory, summary: Summary) -> None:
        """Reporters of other packages."""
        from pytest_bfcl.reporting.sections import tell_listeners

        for trouble in tell_listeners(run.path, summary):
            self._notices.note(trouble)
