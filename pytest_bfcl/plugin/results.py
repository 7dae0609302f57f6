"""The reporting process: every record is stored on arrival, counted, and passed to listeners."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest

from pytest_bfcl.collector import fewer_collections
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.data import category_at
from pytest_bfcl.plugin.failure_repr import FailureRepr, place_of, text_of
from pytest_bfcl.plugin.pytest_internals import Sink
from pytest_bfcl.plugin.session import opened
from pytest_bfcl.runs.results import error_record
from pytest_bfcl.selection.selection import entry_id_of
from pytest_bfcl.session.estimate import cost_lines, skips_ahead
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.plugin.contenders import Variant
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.reporting.report import PagesAhead
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.session.run import Run
    from pytest_bfcl.session.trial import Trial


FIRST_S = 3.0
EVERY_S = 10.0


class Progress:
    """Prints rate, remaining time, errors and cost at most every ten seconds."""

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self._config = config
        self._run = run
        self._started = time.monotonic()
        self._next = self._started + FIRST_S

    def see(self) -> None:
        """After a finished entry, print the run's progress if it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or not reporter.isatty or os.environ.get("CI"):
            return
        self._next = now + EVERY_S
        reporter.ensure_newline()
        Sink(reporter).write_line(self.line(now))

    def line(self, now: float) -> str:
        """``bfcl: 320 of 1390, 6.1/s, 2:55 left, 81.2 % correct, 2 errors, 0.41 USD``."""
        counts, total = self._run.counts, self._run.planned - len(self._run.earlier.settled)
        done = counts.total()
        rate = done / max(now - self._started, 1e-9)
        judged = counts["passed"] + counts["failed"]
        parts = [f"bfcl: {done} of {total}", f"{rate:.1f}/s"]
        if rate > 0 and total > done:
            minutes, seconds = divmod(round((total - done) / rate), 60)
            parts.append(f"{minutes}:{seconds:02} left")
        if judged:
            parts.append(f"{100 * counts['passed'] / judged:.1f} % correct")
        if counts["error"]:
            parts.append(f"{counts['error']} errors")
        if self._run.cost_usd:
            parts.append(f"{self._run.cost_usd:.2f} USD")
        return ", ".join(parts)


class Results:
    """Receives records on the controller.

    ``planned`` are the node ids that will run, ``broken`` the lines of unusable entries, ``foreign_failures`` counts
    failures of other tests. ``fresh`` gives the record of a report made here.
    """

    def __init__(
        self,
        session: Session,
        run: Run,
        variants: Sequence[Variant],
        fresh: Callable[[], ResultLine | None],
    ) -> None:
        self._session = session
        self.run = run
        self.variants = variants
        self._fresh = fresh
        self.planned: list[str] = []
        self.broken: list[str] = []
        self.foreign_failures = 0
        self._progress = Progress(session.config, run)
        self.pages: PagesAhead | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the record of a finished item; count failures of other tests."""
        text: str | None = getattr(report, "bfcl", None)
        if str(report.outcome) == "rerun" or (text is None and report.outcome == "passed"):
            return
        if text is None:
            record = self._crash_record(report)
        else:
            record = self._fresh() or cast("ResultLine", json.loads(text))
        if record is None:
            self.foreign_failures += report.failed and not hasattr(report, "wasxfail")
            return
        if record["tag"] and (shown := text_of(report.longrepr)) is not None:
            message = f"{record['tag']} {record['reason']}"
            report.longrepr = FailureRepr(shown, message, place_of(report.longrepr))
        try:
            self.receive(record, text)
        except HarnessError as error:  # the disk is full: what cannot be kept must not look as if it were
            report.outcome, report.when = "failed", "setup"
            report.longrepr = FailureRepr(error.message, f"{error.tag} {error.reason}")
            self._session.notices.stop(error.message)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A collection error is its own failure; an unusable entry also has a record."""
        self.foreign_failures += report.failed
        self.broken += getattr(report, "bfcl", ())
        if self._session.distributed:
            self.receive_broken()

    def plan(self, nodeids: Sequence[str], entries: Sequence[tuple[str, str]]) -> None:
        """The planned items; ``entries``: id and category of those that are entries."""
        self.planned = list(nodeids)
        self.run.plan(entries, len(entries) + len(self.broken))

    def tell_ahead(
        self, entries: Iterable[tuple[str, str]], why: Callable[[str], str | None], trials: Iterable[Trial] = ()
    ) -> None:
        """Print which entries will be skipped, whether the Overall score is possible, and the cost of trials; after all
        refusals. ``why``: why a category is skipped.
        """
        notices, data = self._session.notices, self._session.data.dataset
        for line in skips_ahead((category for _, category in entries), why, data, part=self.run.is_part):
            notices.say(line)
        for line in cost_lines(trials):
            notices.tell(line)

    def receive_broken(self) -> None:
        """Write the records of unusable entries once the run has begun."""
        waiting, self.broken = self.broken, []
        if self._session.config.option.collectonly or self._session.plan.dry_run:
            return
        for text in waiting:
            self.receive(cast("ResultLine", json.loads(text)), text)

    def receive(self, record: ResultLine, text: str | None = None) -> None:
        """Store one record (``text`` is its line, if known) and notify listeners."""
        if self.run.directory is None:
            opened(self.run)
        if self.pages is None and not self.run.counts and self._session.plan.report in (None, "full"):
            self._pack_pages()
        self.run.take(record, text)
        self._session.config.hook.pytest_bfcl_result(record=record)
        self._progress.see()
        if (reason := self.run.spent_out) is not None:
            self._session.notices.stop(reason)

    def _pack_pages(self) -> None:
        """From the first line on, unless conversations arrive here later than their lines."""
        from pytest_bfcl.reporting.report import PagesAhead

        if pytest_internals.remote_workers(self._session.config):
            return
        self.pages = PagesAhead(self.run.folder, self._session.data.measured, self._session.plan.report)
        self.run.listeners.append(self.pages.take)

    def _crash_record(self, report: pytest.TestReport) -> ResultLine | None:
        """The record of an entry whose worker died; ``None`` for every other report."""
        if str(report.when) != "???" or (category := self._session.data.category_at(report.nodeid)) is None:
            return None
        label = report.nodeid.partition("[")[2].removesuffix("]")
        variants = {variant.label: variant for variant in self.variants}
        contender, repeat, _ = variants.get(label, self.variants[0])
        verdict = HarnessError(
            HarnessTrouble.WORKER_CRASH, str(report.longrepr), advice="resume the run to retry it"
        ).verdict
        return error_record(
            entry_id_of(report.nodeid), category, *contender.identity, verdict,
            repeat=repeat, rules=self._session.settings.rules,
        )  # fmt: skip


_NO_KEYWORDS: Mapping[str, Literal[1]] = {}
_PRINTING = frozenset("ApP")
"""Characters of ``-r`` for which pytest prints reports of passed tests."""


class KeptReports:
    """Replaces the reports of passed entries by small ones.

    ``--durations`` keeps its numbers, and plugins find counts and names of passed tests. Output, keywords, properties
    and the record go. With ``-rA``, ``-rp`` or ``-rP``, which print them, everything stays.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._counted: dict[str, list[Any]] | None = None
        self._prints = bool(_PRINTING & set(config.getoption("reportchars", None) or ""))
        self._timed = config.getoption("durations", None) is not None
        self._are_entries: dict[str, bool] = {}
        """By file."""

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Runs after the terminal counted the report. The report object is not changed, because others (pytest-html)
        may hold it."""
        if report.outcome != "passed" or self._prints or hasattr(report, "wasxfail"):
            return
        file = report.location[0]
        if file not in self._are_entries:
            self._are_entries[file] = category_at(report.nodeid) is not None
        if not self._are_entries[file]:
            return
        if self._counted is None:
            self._counted = pytest_internals.counted(self._config)
        kept = _small(report) if self._timed or report.when == "call" else None
        for category in ("passed", ""):  # the terminal has just counted it
            held = self._counted.get(category)
            if held and held[-1] is report:  # a passed setup or teardown, which is counted nowhere, may go
                held[-1:] = () if kept is None else (kept,)


def _small(report: pytest.TestReport) -> pytest.TestReport:
    path, line, name = report.location
    named = getattr(report, "id", report.nodeid)  # pytest 9.2 has parsed it once
    place = (sys.intern(path), line, name)
    return pytest.TestReport(named, place, _NO_KEYWORDS, "passed", None, report.when, duration=report.duration)


class GcThresholds:
    """Sets the collector's thresholds while items run and while the session ends; afterwards the old ones apply.

    pytest searches everything at the end of a session. Where the process ends too, the run's objects are left out.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._ends = hasattr(config, "workerinput") or is_whole_command(config)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Around all items."""
        with fewer_collections(to_the_end=self._ends):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Around the summary and the report."""
        with fewer_collections(to_the_end=self._ends):
            return (yield)


def is_whole_command(config: pytest.Config) -> bool:
    """Whether the process was started for this session, not by a program that calls pytest."""
    return list(config.invocation_params.args) == sys.argv[1:]
