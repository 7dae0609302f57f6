"""Terminal output of an active session: one header line, and a summary."""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES, is_write_stage
from pytest_bfcl.dataset.opening import NOT_FETCHED
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.pytest_internals import Sink
from pytest_bfcl.selection.selection import virtual_argument
from pytest_bfcl.session.estimate import skip_lines

if TYPE_CHECKING:
    from pytest_bfcl.plugin.failure_repr import Folded
    from pytest_bfcl.plugin.results import Results
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.plugin.session_end import SessionEnd
    from pytest_bfcl.session.run import Run


class Terminal:
    """Header and summary, on the controller."""

    def __init__(self, session: Session, run: Run, results: Results, end: SessionEnd, folded: Folded) -> None:
        self._folded = folded
        self._session = session
        self._config = session.config
        self._data = session.data
        self._notices = session.notices
        self._run = run
        self._results = results
        self._end = end
        # Virtual ids lie nowhere: printing them relative to the working directory would invent a place.
        pytest_internals.show_unchanged(session.config, lambda nodeid: virtual_argument(nodeid) is not None)

    def pytest_report_header(self) -> list[str]:
        """Data, models, rules, place; for own tests what is left out, or that nothing else runs."""
        models = ", ".join(spec.text for spec in self._session.specs)
        if self._session.plan.own_tests and self._data.arguments == [] and not self._data.named_files:
            return [f"bfcl: {models} for your own tests; recording and replaying add no entries"]
        with pytest_internals.users_mistakes():
            data, told = self._data.measured, self._run.fingerprint().splits()
        name = f"{data.name} {data.version}".strip()
        lines = [f"bfcl: {models} on {name} ({data.sha256[:8]}), {self._session.settings.rules} rules"]
        if unused := self._data.dataset.unused_text():
            self._notices.note(unused)
        if self._data.is_guessed:
            lines.append(f"bfcl: {NOT_FETCHED}")
        if told:
            lines.append(f"bfcl: {'; '.join(told)}")
        if done := len(self._run.earlier.settled):
            lines.append(f"bfcl: continuing {self._run.folder}: {done} entries are finished and not asked again")
        return lines

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> Generator[None, Any, Any]:
        """Printed last: failures by reason, then the results; after a refusal nothing."""
        try:
            return (yield)
        finally:
            self._folded.put_back(terminalreporter)
            if exitstatus == pytest.ExitCode.USAGE_ERROR:
                self._notices.notes.clear()
            terminalreporter = Sink(terminalreporter)
            lines = list(self._folded.lines())
            if lines:
                terminalreporter.write_sep("=", "failures by reason", cyan=True, bold=True)
            for line in lines:
                terminalreporter.write_line(line)
            self._write_summary(terminalreporter)

    def _write_summary(self, terminalreporter: Sink) -> None:
        """The table by category, then groups, errors, money and time."""
        summary = self._run.summary
        if summary is not None and self._data.is_unused and self._config.getoption("bfcl_data"):
            self._notices.note(f"--bfcl-data {self._session.plan.data} is not used, as only your own files were named")
        for note in self._notices.notes:
            terminalreporter.write_line(f"bfcl: {note}", yellow=True)
        if summary is None:
            return
        if self._data.is_guessed:  # said twice: -q hides the header
            terminalreporter.write_line(f"bfcl: {NOT_FETCHED}", yellow=True)
        measured = {CATEGORIES[name] for model in summary["models"].values() for name in model["categories"]}
        if not measured or any(row.backend for row in measured):  # write stages come with memory's questions
            stages = sum(is_write_stage(category) for _, category in self._data.entries_at(self._results.planned))
        else:
            stages = 0
        if stages:
            told = f"{stages} tests are write stages of memory entries, which no score counts"
            terminalreporter.write_line(f"bfcl: {told}")
        for line in skip_lines(self._run.skips):
            terminalreporter.write_line(f"bfcl: {line}", yellow=True)
        from pytest_bfcl.reporting.score_lines import nothing_answered, run_lines

        where = shlex.quote(str(self._run.folder))
        if self._notices.stopped and nothing_answered(summary):
            terminalreporter.write_line(f"stopped: {self._notices.stopped}", red=True)
            terminalreporter.write_line(f"to resume: the same command with --bfcl-out {where}")
            return
        for line, style in run_lines(summary, self._notices.stopped, verbosity=self._config.get_verbosity()):
            if style == "bold":
                terminalreporter.write_sep("=", line)
            else:
                terminalreporter.write_line(line, red=style == "red")
        terminalreporter.write_line(self._run.fingerprint().short())
        terminalreporter.write_line(f"run: {self._run.folder}")
        if self._notices.stopped or self._run.counts["error"]:
            terminalreporter.write_line(f"to resume: the same command with --bfcl-out {where}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """The gates' verdict as the last lines, below pytest's own summary."""
        result = yield
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        summary = self._run.summary
        if reporter is None or summary is None:
            return result
        reporter = Sink(reporter)
        from pytest_bfcl.reporting.markdown import annotation_lines
        from pytest_bfcl.scoring.gating import gate_lines, wrong_entries

        told = gate_lines(
            summary["gate"],
            self._end.gates.options,
            unjudged=self._notices.stopped or "the session ended early",
            troubles=self._end.troubles,
            wrong=wrong_entries(summary),
        )
        for line, good in told:
            reporter.write_line(line, green=good is True, red=good is False)
        for line in annotation_lines(summary["gate"], os.environ):
            reporter.obeyed(line)
        return result
