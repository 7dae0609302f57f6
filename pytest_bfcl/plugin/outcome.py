"""From an item's fixtures to pytest's outcome, and to the record on its report.

The entry is judged at the end of setup, so an infrastructure error is pytest's ERROR; the call raises the failure.
The record crosses xdist as a JSON string on the report; the controller writes it the moment it arrives (`results`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_bfcl.conversation.lookahead import RunStopped
from pytest_bfcl.explaining.headlines import error_text
from pytest_bfcl.failures import (
    AdapterError,
    BenchmarkError,
    EntrySkipped,
    Failure,
    FailureTag,
    HarnessError,
    UsageError,
    Verdict,
)
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.failure_repr import FailureRepr
from pytest_bfcl.plugin.nodes import BrokenLine, EntryItem
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.runs.results import written
from pytest_bfcl.scoring.expectations import Expectations, key_of
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.plugin.conversations import Conversations, Loop
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.runner import Runner
    from pytest_bfcl.session.trial import Trial
    from pytest_bfcl.transcript import Transcript

RECORD = pytest.StashKey[ResultLine]()


class EntryTrouble(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """An infrastructure error with a prepared text, because formatting a traceback takes 0.2 s."""


class Outcomes:
    """Sets items up, judges them, and puts the record on the report. Implements `EntryTest` of the nodes."""

    def __init__(
        self, session: Session, runner: Runner, conversations: Conversations, expectations: Expectations
    ) -> None:
        self._session = session
        self._notices = session.notices
        self._runner = runner
        self._conversations = conversations
        self._expectations = expectations
        self._fresh: ResultLine | None = None

    # -- one item ------------------------------------------------------------------------------------------------

    def set_up(self, item: EntryItem, fill_fixtures: Callable[[], None]) -> None:
        """Set the fixtures, hold the conversation, judge it. An error becomes a short text without traceback."""
        self._conversations.current = item
        with self._keeping_trouble(item):
            fill_fixtures()
            funcargs = item.funcargs
            if "bfcl_transcript" not in funcargs:
                loop = cast("Loop", funcargs["bfcl_loop"])
                model = funcargs[item.file.model_fixture]
                funcargs["bfcl_entry"] = self._conversations.entry_of(item)
                funcargs["bfcl_transcript"] = self._conversations.transcript(item, model, loop)
            self._judge(item)

    def tear_down(self, item: EntryItem) -> None:
        """Release the entry, its conversation and its record, because items live as long as the session."""
        self._conversations.release(item)
        if RECORD in item.stash:
            del item.stash[RECORD]

    def check(self, item: EntryItem) -> None:
        """Raise `Failure` if the model's answer failed."""
        if (failure := self.failure_of(item)) is not None:
            raise failure

    def failure_of(self, item: EntryItem) -> Failure | None:
        """The failure of the model's answer, with its text; ``None`` if it passed."""
        record = item.stash[RECORD]
        if record["outcome"] == "passed":
            return None
        from pytest_bfcl.explaining.terminal import failure_text

        tag, reason, detail = FailureTag(str(record["tag"])), str(record["reason"]), record["detail"]
        entry = cast("Entry", item.funcargs["bfcl_entry"])
        transcript = cast("Transcript", item.funcargs["bfcl_transcript"])
        text = failure_text(
            entry,
            transcript,
            Verdict(False, tag, reason, detail),
            whole_request=item.config.get_verbosity() > 1,
        )
        return Failure(tag, reason, text, detail)

    def failure_repr(self, item: EntryItem, excinfo: pytest.ExceptionInfo[BaseException]) -> FailureRepr | None:
        """The prepared text of a model's failure."""
        return self.as_failure_repr(item, excinfo.value) if isinstance(excinfo.value, Failure) else None

    def as_failure_repr(self, item: EntryItem, failure: Failure) -> FailureRepr:
        """How pytest shows it."""
        return FailureRepr(failure.message, f"{failure.tag} {failure.reason}", (str(item.ref.path), item.ref.line))

    @contextmanager
    def _keeping_trouble(self, item: EntryItem) -> Iterator[None]:
        """Turn an exception into pytest's vocabulary, with its record."""
        if RECORD in item.stash:  # the item is run again
            del item.stash[RECORD]
        item.user_properties = [("category", item.ref.category)]
        trouble: BenchmarkError | None = None
        try:
            if self._session.foreign_data:  # said here: xdist would replace a worker that refuses to start forever
                raise UsageError(self._session.foreign_data)
            yield
        except RunStopped as stop:
            self._notices.stop(stop.reason)
            raise pytest_internals.skipped(f"not run: {stop.reason}") from None
        except EntrySkipped as skipped:
            raise pytest_internals.skipped(skipped.message) from None
        except BenchmarkError as error:
            trouble = error
        except UsageError as error:  # on a worker; elsewhere the models were created before
            self._notices.stop(str(error).partition("\n")[0])
            raise EntryTrouble(str(error), pytrace=False) from None
        except Exception as error:
            if self._conversations.model_failed:  # shown once, with its traceback; others would only repeat it
                what = AdapterError(
                    AdapterTrouble.FIXTURE, f"the model fixture failed: {type(error).__name__}: {error}"
                )
                self._keep_error(item, what)
                self._notices.stop("the model fixture failed")
            raise
        if trouble is not None:
            record = item.stash.get(RECORD, None) or self._keep_error(item, trouble)
            if reason := self._runner.stop_reason():
                self._notices.stop(reason)
            raise EntryTrouble(error_text(record), pytrace=False) from None

    def _judge(self, item: EntryItem) -> None:
        trial = self._conversations.trial_of(item)
        record = item.stash[RECORD] = self._runner.judged(trial, cast("Transcript", item.funcargs["bfcl_transcript"]))
        if record["reason"]:
            item.user_properties += [("tag", str(record["tag"])), ("reason", str(record["reason"]))]
        if record["outcome"] == "error":
            detail = record["detail"]
            kind = str(record["reason"]).partition(":")[2] or "checker"
            kinds = AdapterError if record["tag"] == FailureTag.ADAPTER_ERROR else HarnessError
            raise kinds(kind, str(detail.get("error") or record["reason"]), advice=str(detail.get("advice") or ""))
        if self._expectations.failures and (expected := self._expectations.failures.get(key_of(record))):
            why = f"expected by --bfcl-expected: {expected.get('reason') or 'a failure'}"  # known failures are no news
            item.add_marker(pytest.mark.xfail(raises=Failure, reason=why, strict=False))

    def _keep_error(self, item: EntryItem, error: BenchmarkError) -> ResultLine:
        record = item.stash[RECORD] = self._runner.errored(self._conversations.trial_of(item), error)
        item.user_properties += [("tag", str(record["tag"])), ("reason", str(record["reason"]))]
        return record

    # -- its report ----------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the record on the report that decides the item."""
        report = yield
        if not isinstance(item, EntryItem) or report.when == "teardown" or (report.when == "setup" and report.passed):
            return report
        record = item.stash.get(RECORD, None)
        if report.when == "setup" and report.skipped:
            if self._notices.stopped:
                return report
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            trial = self._conversations.trial_of(item)
            record = self._runner.skipped(trial, reason.removeprefix("Skipped: "))
        elif record is None or (report.when == "call" and call.excinfo and not call.excinfo.errisinstance(Failure)):
            what = call.excinfo.exconly() if call.excinfo else "no outcome"
            record = self._keep_error(item, HarnessError(HarnessTrouble[str(report.when).upper()], what))
        if call.excinfo is not None and isinstance(call.excinfo.value, EntryTrouble):
            place = (str(item.ref.path), item.ref.line)
            message = f"{record['tag']} {record['reason']}"
            report.longrepr = FailureRepr(str(call.excinfo.value.msg), message, place)
        item.stash[RECORD] = record
        return self.decided(item, report)

    def decided(self, item: EntryItem, report: pytest.TestReport) -> pytest.TestReport:
        """The report that decides an item, with its record."""
        record = item.stash[RECORD]
        report.bfcl = written(record)[:-1].decode()  # type: ignore[attr-defined]
        self._fresh = record
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Put the records of an entry that cannot be used on the report of its collection error."""
        report = yield
        if isinstance(collector, BrokenLine) and report.failed:
            report.bfcl = [written(self._broken(trial))[:-1].decode() for trial in collector.trials]  # type: ignore[attr-defined]
        return report

    def _broken(self, trial: Trial) -> ResultLine:
        try:
            trial.load()
        except BenchmarkError as error:
            return self._runner.errored(trial, error)
        return self._runner.errored(trial, HarnessError(HarnessTrouble.DATA, f"{trial.entry_id} cannot be used"))

    def take_fresh(self) -> ResultLine | None:
        """The record of the last report, stored because one process need not parse it again."""
        fresh, self._fresh = self._fresh, None
        return fresh
