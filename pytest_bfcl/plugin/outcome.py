"""From a transcript to pytest's report and to one line of ``results.jsonl``.

The entry is judged at the end of setup, so that trouble of ours is pytest's ERROR; the call raises the model's failure.
The record crosses xdist as a JSON string on the report; the controller writes it the moment it arrives.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.conversation import RunStopped
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
from pytest_bfcl.plugin.selection import entry_id_of
from pytest_bfcl.runs.lines import json_line
from pytest_bfcl.runs.result_line import ResultLine as Record

if TYPE_CHECKING:
    from pytest_bfcl.plugin.collection import EntryItem
    from pytest_bfcl.plugin.session import BfclSession

RECORD = pytest.StashKey[Record]()


class EntryTrouble(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """Trouble that is not the model's, with a ready text: formatting a traceback for each would take 0.2 s."""


class FailureText:
    """What pytest prints for a failed entry; plain when turned into a string, coloured on a terminal.

    ``reprcrash.message`` is what the short summary and junit show.
    """

    def __init__(self, text: str, message: str) -> None:
        self.text = text
        self.reprcrash = _Crash(message)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, writer: Any) -> None:
        """Write the text in colour, lines longer than a colour terminal is wide continued below their value."""
        title, *lines = self.text.splitlines() or [""]
        writer.line(title, red=True, bold=True)
        for line in lines:
            for part in _wrapped(line, writer.fullwidth) if writer.hasmarkup else [line]:
                _write_line(writer, part)


_VALUE = re.compile(r"^ *(?:\S+ {2,}|(?=\S))")
_COLOURS = {"expected": "green", "called": "red", "reply": "red", "message": "red", "advice": "cyan", "^": "red"}


def _write_line(writer: Any, line: str) -> None:
    """One line: the label coloured by what it introduces, the mark at what broke in red."""
    label = line.split(maxsplit=1)[0] if line.strip() else ""
    head, mark, tail = line.partition("<-- ")
    if mark:
        writer.write(head)
        writer.line(mark + tail, red=True, bold=True)
    elif label == "expected" and line.split()[1:] == ["called"]:  # the head of a table
        writer.line(line, bold=True)
    elif label in _COLOURS:
        at = line.index(label)
        writer.write(line[:at])
        writer.write(label, **{_COLOURS[label]: True})
        writer.line(line[at + len(label) :])
    else:
        writer.line(line)


def _wrapped(line: str, width: int) -> list[str]:
    """A line in pieces of at most ``width`` columns, the later ones indented to where its value begins."""
    if len(line) <= width or width < 60:
        return [line]
    found = _VALUE.match(line)
    indent = min(found.end() if found else 0, width // 2)
    return textwrap.wrap(line, width, subsequent_indent=" " * indent, drop_whitespace=True, break_on_hyphens=False) or [
        line
    ]


class _Crash:
    def __init__(self, message: str) -> None:
        self.message = message

    def __str__(self) -> str:
        return self.message


class Outcomes:
    """Judges items, builds reports, and on the controller receives every finished record."""

    def __init__(self, bfcl: BfclSession) -> None:
        self.bfcl = bfcl
        self.stopped: str | None = None
        self.notes: list[str] = []
        self.model_failed = False
        self.counts: Counter[str] = Counter()
        self.skips: Counter[str] = Counter()
        self.cost_usd = 0.0
        self.foreign_failures = 0
        self.planned: list[str] = []
        self._fresh: Record | None = None

    # -- one item ------------------------------------------------------------------------------------------------

    @contextmanager
    def setup_of(self, item: EntryItem) -> Iterator[None]:
        """Around an item's fixtures: judge when they are there, turn trouble into a short text."""
        if RECORD in item.stash:  # the item is run again
            del item.stash[RECORD]
        item.user_properties = [("category", item.ref.category)]
        trouble: BenchmarkError | None = None
        try:
            if self.bfcl.foreign_data:  # said here: xdist would replace a worker that refuses to start again and again
                raise UsageError(self.bfcl.foreign_data)
            yield
            self._judge(item)
        except RunStopped as stop:
            self.bfcl.stop(stop.reason)
            raise pytest.skip.Exception(f"not run: {stop.reason}", _use_item_location=True) from None
        except EntrySkipped as skipped:
            raise pytest.skip.Exception(skipped.message, _use_item_location=True) from None
        except BenchmarkError as error:
            trouble = error
        except UsageError as error:  # on a worker; elsewhere the models were created before
            self.bfcl.stop(str(error))
            raise EntryTrouble(str(error), pytrace=False) from None
        except Exception as error:
            if self.model_failed:  # shown once, with its traceback; asking on would repeat it for every entry
                verdict = AdapterError("fixture", f"the model fixture failed: {type(error).__name__}: {error}").verdict
                item.stash[RECORD] = self._error_record(item, verdict)
                self.bfcl.stop("the model fixture failed")
            raise
        if trouble is not None:
            record = item.stash[RECORD] = self._error_record(item, trouble.verdict)
            self._stop_if_pointless(item)
            raise EntryTrouble(_trouble_text(record, trouble), pytrace=False) from None

    def _judge(self, item: EntryItem) -> None:
        from pytest_bfcl.evaluation import judged_record

        settings = self.bfcl.settings
        entry: Any = item.funcargs["bfcl_entry"]
        transcript: Any = item.funcargs["transcript"]
        record = judged_record(
            entry,
            transcript,
            rules=settings.rules,
            price=self.bfcl.price_of(item.spec),
            worker=self.bfcl.process,
            simulators=settings.simulators,
        )
        if record["outcome"] == "error":
            detail = record["detail"]
            kind = str(record["reason"]).partition(":")[2] or "checker"
            kinds = AdapterError if record["tag"] == FailureTag.ADAPTER_ERROR else HarnessError
            where = f"mend {item.ref.path}, line {item.ref.line}" if kind == "data" else ""
            advice = str(detail.get("advice") or where)
            raise kinds(kind, str(detail.get("error") or record["reason"]), advice=advice)
        item.stash[RECORD] = record
        self.bfcl.expectations.mark(item, record)
        item.user_properties += [(name, str(record[name])) for name in ("tag", "reason") if record[name]]

    def check(self, item: EntryItem) -> None:
        """Raise `Failure` if the model's answer did not pass."""
        record = item.stash[RECORD]
        if record["outcome"] == "passed":
            return
        from pytest_bfcl.checkers import failure_text

        tag, reason, detail = FailureTag(str(record["tag"])), str(record["reason"]), record["detail"]
        verdict = Verdict(False, tag, reason, detail)
        entry: Any = item.funcargs["bfcl_entry"]
        transcript: Any = item.funcargs["transcript"]
        raise Failure(tag, reason, failure_text(entry, transcript, verdict), detail)

    @staticmethod
    def forget(item: EntryItem) -> None:
        """The item is over and reported."""
        if RECORD in item.stash:
            del item.stash[RECORD]

    @staticmethod
    def failure_repr(item: EntryItem, excinfo: pytest.ExceptionInfo[BaseException]) -> FailureText | None:
        """The ready text of a model's failure."""
        error = excinfo.value
        return FailureText(error.message, f"{error.tag} {error.reason}") if isinstance(error, Failure) else None

    def _error_record(self, item: EntryItem, verdict: Verdict) -> Record:
        from pytest_bfcl.runs import error_record

        model, mode = self.bfcl.conversations.identity(item)
        item.user_properties += [("tag", str(verdict.tag)), ("reason", str(verdict.reason))]
        return error_record(
            item.ref.id, item.ref.category, model, mode, verdict,
            repeat=item.repeat, rules=self.bfcl.settings.rules, worker=self.bfcl.process,
        )  # fmt: skip

    def _skipped_record(self, item: EntryItem, why: str) -> Record:
        from pytest_bfcl.runs import skipped_record

        model, mode = self.bfcl.conversations.identity(item)
        rules = self.bfcl.settings.rules
        return skipped_record(item.ref.id, item.ref.category, model, mode, why, repeat=item.repeat, rules=rules)

    def _stop_if_pointless(self, item: EntryItem) -> None:
        reason = self.bfcl.conversations.stop_reason()
        if reason:
            self.bfcl.stop(reason)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the record on the report that decides the item."""
        from pytest_bfcl.plugin.collection import EntryItem

        report = yield
        if not isinstance(item, EntryItem) or report.when == "teardown" or (report.when == "setup" and report.passed):
            return report
        record = item.stash.get(RECORD, None)
        if report.when == "setup" and report.skipped:
            if self.stopped:
                return report
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            record = self._skipped_record(item, reason.removeprefix("Skipped: "))
        elif record is None or (report.when == "call" and call.excinfo and not call.excinfo.errisinstance(Failure)):
            what = call.excinfo.exconly() if call.excinfo else "no outcome"
            record = self._error_record(item, HarnessError(str(report.when), what).verdict)
        if call.excinfo is not None and isinstance(call.excinfo.value, EntryTrouble):
            report.longrepr = FailureText(str(call.excinfo.value.msg), f"{record['tag']} {record['reason']}")  # type: ignore[assignment]
        report.bfcl = record_text(record)  # type: ignore[attr-defined]
        if not self.bfcl.is_worker:
            self._fresh = record
        return report

    # -- the controller ------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the record of a finished item; count failures that are not ours."""
        if self.bfcl.is_worker or report.outcome == "rerun":  # type: ignore[comparison-overlap]
            return
        text = getattr(report, "bfcl", None)
        record = self._record_of(report, text)
        if record is None:
            self.foreign_failures += report.failed and not hasattr(report, "wasxfail")
            return
        if isinstance(report.longrepr, str) and record["tag"]:
            report.longrepr = FailureText(report.longrepr, f"{record['tag']} {record['reason']}")  # type: ignore[assignment]
        try:
            self.receive(record, text)
        except HarnessError as error:  # the disk is full: what cannot be kept must not look as if it were
            report.outcome, report.when = "failed", "setup"
            report.longrepr = FailureText(error.message, f"{error.tag} {error.reason}")  # type: ignore[assignment]
            self.bfcl.stop(error.message)

    def _record_of(self, report: pytest.TestReport, text: str | None) -> Record | None:
        """The record a report brings; one made in this process need not be parsed again."""
        fresh, self._fresh = self._fresh, None
        if text is None:
            return self._crash_record(report)
        return fresh if fresh is not None else json.loads(text)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A collection error is a failure of its own."""
        self.foreign_failures += report.failed

    def receive(self, record: Record, text: str | None = None) -> None:
        """Keep one record (``text`` is its line, where it is known) and tell whoever listens."""
        run = self.bfcl.start_run()
        if run is not None:
            run.append(record, text)
        self.counts[record["outcome"]] += 1
        if record["outcome"] == "skipped":
            self.skips[str(record["detail"].get("error"))] += 1
        self.cost_usd += record.get("cost_usd") or 0.0
        self.bfcl.config.hook.pytest_bfcl_result(record=record)
        limit = self.bfcl.settings.budget_usd
        if limit is not None and self.cost_usd >= limit:
            self.bfcl.stop(f"budget of {limit:g} USD reached ({self.cost_usd:.4f} spent)")

    def _crash_record(self, report: pytest.TestReport) -> Record | None:
        """The record of an entry during which a worker died; ``None`` for every other report."""
        category = self.bfcl.category_at(report.nodeid)
        if str(report.when) != "???" or category is None:
            return None
        from pytest_bfcl.runs import error_record

        _, _, label = report.nodeid.partition("[")
        variants = {variant[2]: variant for variant in self.bfcl.variants}
        spec, repeat, _ = variants.get(label.removesuffix("]"), self.bfcl.variants[0])
        mode = self.bfcl.mode_of(spec)
        verdict = HarnessError("worker_crash", str(report.longrepr), advice="continue the run to ask again").verdict
        return error_record(
            entry_id_of(report.nodeid), category, self.bfcl.canonical(spec), mode, verdict,
            repeat=repeat, rules=self.bfcl.settings.rules,
        )  # fmt: skip


def record_text(record: Record) -> str:
    """The record's line in ``results.jsonl``, without its end."""
    return json_line(record)[:-1].decode()


def _trouble_text(record: Record, error: BenchmarkError) -> str:
    lines = [f"{record['tag']}: {record['reason']}", f"  {error.message}"]
    return "\n".join([*lines, f"  what to do: {error.advice}"] if error.advice else lines)
