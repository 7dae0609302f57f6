"""Wire checks as nodes of pytest's tree, ``bfcl/wire.jsonl::<check>``, and the thread that runs them.

That thread runs all checks of this process concurrently, besides pytest's own thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Generator, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.plain_text import clean_line, shortened
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.collection import CheckFile
from pytest_bfcl.plugin.failure_repr import FailureRepr
from pytest_bfcl.selection import selection
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.extensions.wire.client import Place
    from pytest_bfcl.extensions.wire.examiner import Examiner
    from pytest_bfcl.extensions.wire.outcome import Outcome, WireRecord
    from pytest_bfcl.failures import BenchmarkError
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.settings import Settings

NODEID = "bfcl/wire.jsonl"
RECORD = pytest.StashKey["WireRecord"]()
SHOWN = 300
"""Characters of a proof that the terminal shows."""
SKIPPED = ("not_called", "refused", "blocked")
GIVE_UP = 2
"""Number of first checks without a server after which the others are skipped."""
SETTLED = ("held", "broke", "refused")
"""States that a resumed run does not check again."""


class WireFault(AssertionError):
    """The server broke a rule."""

    def __init__(self, record: WireRecord) -> None:
        super().__init__(f"WIRE_FAULT: {record.reason}")
        self.record = record


class WireTrouble(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """The endpoint could not be reached: pytest's ERROR, with a prepared text."""


class WireFile(CheckFile):
    """All checks of the session's endpoints: each model with the check names of its API.

    ``only``: names asked for on the command line, with or without a label; ``None``: all.
    """

    checks: Sequence[tuple[Contender, Sequence[str]]]
    asking: WireChecks
    only: frozenset[str] | None

    @property
    def ihook(self) -> Any:
        """Hooks of the user's conftest files."""
        return self.session.gethookproxy(self.config.invocation_params.dir)

    def collect(self) -> Iterator[WireItem]:
        """One item per check and model."""
        for contender, names in self.checks:
            for name in names:
                label = contender.label if len(self.checks) > 1 else None
                if self.only is None or name in self.only or f"{name}[{label}]" in self.only:
                    yield WireItem.of(self, contender, name, label)


class WireItem(pytest.Item):
    """One check of one model's endpoint: setup sends the requests, and the call judges."""

    contender: Contender
    check: str
    asking: WireChecks

    @classmethod
    def of(cls, parent: WireFile, contender: Contender, check: str, label: str | None) -> WireItem:
        """The item; its label distinguishes models."""
        item: WireItem = cls.from_parent(parent, name=f"{check}[{label}]" if label else check)
        if label:
            pytest_internals.set_label(item, parent, check, label)
        item.contender, item.check, item.asking = contender, check, parent.asking
        return item

    @property
    def ihook(self) -> Any:
        """As the file's."""
        assert self.parent is not None
        return self.parent.ihook

    def setup(self) -> None:
        """Run the check."""
        self.asking.set_up(self)

    def runtest(self) -> None:
        """A fault fails; a result that shows nothing about the server is a skip with its reason."""
        record = self.stash[RECORD]
        if record.state == "broke":
            self.user_properties += [("tag", "WIRE_FAULT"), ("reason", record.reason), ("rule", record.rule)]
            raise WireFault(record)
        if record.state in SKIPPED:
            raise pytest_internals.skipped(f"{record.state.replace('_', ' ')}: {record.why}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The rule, its violation and the proof; other errors as pytest shows them."""
        if isinstance(excinfo.value, WireFault):
            record = excinfo.value.record
            return FailureRepr("\n".join(fault_lines(record)), f"WIRE_FAULT {record.reason}")
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, int, str]:
        """The virtual file and the name."""
        return self.config.rootpath / NODEID, 0, self.name


def fault_lines(record: WireRecord) -> Iterator[str]:
    """A fault for the terminal; the page has the full request and answer."""
    yield f"WIRE_FAULT: {record.reason}"
    yield f"  server    {record.endpoint}, {record.api}, held {record.held_text}"
    yield f"  broke     {record.why}" + ("" if record.certain else "  (likely the server's: no model is known for it)")
    if record.proof:
        yield f"  proof     {clean_line(shortened(record.proof, SHOWN))}"
    elif record.exchanges:
        answer = record.exchanges[0]
        yield f"  answer    HTTP {answer.status} {clean_line(shortened(answer.received, SHOWN))}"
    yield f"  rule      {record.rule}"
    yield f"  written   {record.where}"


class WireChecks:
    """The checks' outcomes, one examiner a model. Its thread starts with the first item and ends with the session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._items: list[WireItem] = []
        self._thread: _LoopThread | None = None
        self._examiners: dict[Contender, tuple[Place, Examiner]] = {}
        self._unreached: int | None = 0
        """Checks that reached no server before the first answer; ``None`` after it."""
        self._futures: dict[tuple[Contender, str], Future[Outcome]] = {}

    # -- the items -----------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Store the items of this process: its stripe, if there are several."""
        items = session.items
        worker = self._session.worker
        if worker is not None:
            stripe = selection.stripes([item.nodeid for item in items], int(worker["slots"]))[int(worker["slot"])]
            items = [items[position] for unit in stripe for position in unit]
        self._items = [item for item in items if isinstance(item, WireItem)]

    def set_up(self, item: WireItem) -> None:
        """Wait for the outcome; the first item starts all checks."""
        from pytest_bfcl.extensions.wire.outcome import record_of

        if (reason := self._session.notices.stopped) is not None:
            raise pytest_internals.skipped(f"not run: {reason}")
        if self._thread is None:
            self._thread = _LoopThread()
            for each in [item, *self._items]:
                self._start(each)
        outcome = self._start(item).result()
        place, _ = self._examiners[item.contender]
        record = item.stash[RECORD] = record_of(outcome, place, item.contender.identity.model)
        item.user_properties += [("bfcl_wire", record.state), ("bfcl_wire_held", record.held_text)]
        if record.state != "error":
            self._unreached = None
            return
        error = outcome.error
        self._note_unreached(error, place)
        advice = f"\n  what to do: {place.hidden(error.advice)}" if error is not None and error.advice else ""
        said = f"{error.tag}: {error.reason}" if error is not None else "HARNESS_ERROR: harness:wire"
        raise WireTrouble(f"{said}\n  {record.why}{advice}", pytrace=False) from None

    def _note_unreached(self, error: BenchmarkError | None, place: Place) -> None:
        """Stop if the first checks found no server, or no key, because the others would report the same."""
        if self._unreached is None or len({item.contender for item in self._items}) > 1:
            return
        if isinstance(error, AdapterError) and error.kind in (AdapterTrouble.CONNECTION, AdapterTrouble.AUTH):
            self._unreached += 1
            if self._unreached >= GIVE_UP:
                reason = f"{place.server.shown}: {place.hidden(error.message)}"
                self._session.notices.stop(reason, summarised=False)
        else:
            self._unreached = None

    def _start(self, item: WireItem) -> Future[Outcome]:
        assert self._thread is not None
        key = (item.contender, item.check)
        if key not in self._futures:
            self._futures[key] = self._thread.submit(self._outcome(item.contender, item.check))
        return self._futures[key]

    async def _outcome(self, contender: Contender, check: str) -> Outcome:
        from pytest_bfcl.extensions.wire.client import Place
        from pytest_bfcl.extensions.wire.examiner import examiner_of

        if contender not in self._examiners:
            settings = self._session.settings.for_model(contender.label)
            place = Place.of(contender.spec, settings)
            self._examiners[contender] = place, examiner_of(place, settings)
        return await self._examiners[contender][1].start(check)

    # -- their reports -------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the record on the report that decides the item; workers send it as text."""
        report = yield
        if isinstance(item, WireItem) and RECORD in item.stash and report.when != "teardown":
            if report.when == "call" or report.failed:
                report.bfcl_wire = item.stash[RECORD].line  # type: ignore[attr-defined]
            if call.excinfo is not None and isinstance(call.excinfo.value, WireTrouble):
                text = str(call.excinfo.value.msg)
                report.longrepr = FailureRepr(text, text.partition("\n")[0])
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Stop running checks."""
        if self._thread is not None:
            self._thread.close([examiner for _, examiner in self._examiners.values()])


def checks_of(
    contenders: Sequence[Contender], only: frozenset[str] | None, run: Path, settings: Settings
) -> list[tuple[Contender, Sequence[str]]]:
    """Each model with its API's check names, without those that an earlier part of the run has settled.

    Raises `UsageError` for models without their own endpoint, and for names that no check has.
    """
    from pytest_bfcl.extensions.wire.checks import all_checks, checks_for
    from pytest_bfcl.extensions.wire.client import Place
    from pytest_bfcl.extensions.wire.outcome import read_lines

    named = {name.partition("[")[0] for name in only or ()}
    if unknown := named - {check.name for check in all_checks()}:
        raise UsageError(f"not found: bfcl/wire.jsonl::{min(unknown)}; pytest-bfcl doctor wire --list names all")
    earlier = read_lines(run)
    found: list[tuple[Contender, Sequence[str]]] = []
    for contender in contenders:
        place = Place.of(contender.spec, settings.for_model(contender.label))
        settled = {
            record.check
            for record in earlier
            if (record.model, record.api) == (contender.identity.model, place.api)
            and record.state in SETTLED
            and sum(record.counts.values()) >= settings.repeat
        }
        names = [check.name for check in checks_for(place.api)]
        found.append((contender, [name for name in names if name not in settled]))
    return found


class _LoopThread:
    """An event loop that never waits for pytest, so that measured times are the server's."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bfcl-wire", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Run it there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self, examiners: Sequence[Examiner]) -> None:
        """Close connections and end within seconds."""

        async def end() -> None:
            for examiner in examiners:
                await examiner.aclose()

        with contextlib.suppress(TimeoutError):
            self.submit(end()).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        if not self._thread.is_alive():
            self._loop.close()
