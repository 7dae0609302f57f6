"""How a session ends: summary, gates, one exit code (contract §7), reports."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.data import category_at
from pytest_bfcl.plugin.options import named_options
from pytest_bfcl.run_options import OPTIONS

if TYPE_CHECKING:
    from pytest_bfcl.plugin.results import Results
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.scoring.gating import Gates
    from pytest_bfcl.session.run import Run


SAME_SIGNAL_S = 0.3
"""Signals closer than this count as one: ``timeout`` signals the process and its group, wrappers pass Ctrl-C on."""
AGAIN_S = 0.002
"""When a signal comes again that came at an instruction without a line."""
DEFAULTS: dict[signal.Signals, object] = {
    signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler,
}  # fmt: skip


class Termination:
    """Handles both signals during a session, unless the project has its own handlers. ``hurried`` are called at the
    second signal; ``kept``: the summary is written.
    """

    def __init__(self) -> None:
        self.hurried: list[Callable[[], object]] = []
        self.kept = False
        self._signals = 0
        self._asked_at: float | None = None
        self._raises = False
        self._ours: list[signal.Signals] = []
        self._session: pytest.Session | None = None

    @property
    def was_requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._asked_at is not None

    def ask(self) -> None:
        """End the session from another thread, like a signal; no effect if it is already ending."""
        if not self.was_requested and signal.SIGTERM in self._ours and hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)  # wakes a waiting event loop

    # -- how far the session is --------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """From here on a run directory may exist."""
        self._session = session
        if threading.current_thread() is threading.main_thread():
            self._ours = [number for number, usual in DEFAULTS.items() if signal.getsignal(number) is usual]
            for number in self._ours:
                signal.signal(number, self._signalled)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """During collection nothing is lost by an interruption."""
        with self._raising():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Around all items. Before and after, pytest would not survive an interruption, so it is only noted."""
        with self._raising():
            return (yield)

    @contextmanager
    def _raising(self) -> Iterator[None]:
        """In this context a signal interrupts; so does an earlier one, at its start."""
        if self.was_requested:
            _stop()
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def pytest_unconfigure(self) -> None:
        """Everything is stored: from here on the signals have their default effect."""
        for number in self._ours:
            signal.signal(number, DEFAULTS[number])  # type: ignore[arg-type]
        self._ours = []
        if self.was_requested and self._session is not None and self._session.exitstatus in (0, 1):
            self._session.exitstatus = pytest.ExitCode.INTERRUPTED

    # -- signals -----------------------------------------------------------------------------------------------------

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self._raises and frame is not None and frame.f_lineno is None and hasattr(signal, "pthread_kill"):
            # Some instructions have no line, and pytest cannot show an interruption there: a moment later.
            again = threading.Timer(AGAIN_S, signal.pthread_kill, (threading.get_ident(), number))
            again.daemon = True
            again.start()
            return
        now = time.monotonic()
        first, self._asked_at = not self.was_requested, self._asked_at or now
        if not first and now < self._asked_at + SAME_SIGNAL_S:
            return
        self._signals += 1
        if self._raises:
            _interrupt()
        elif self._signals > 2 or (self.kept and not first):
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        elif not first:
            for hurry in self.hurried:
                hurry()


def _interrupt() -> None:
    """Let pytest end the session: at once, or after the current step of a conversation."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        _stop()
    else:
        loop.call_soon_threadsafe(_stop)  # raised inside a conversation it would be told as that one's exception


def _stop() -> None:
    raise KeyboardInterrupt("ended by a signal")


JUDGED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def gates_of(session: Session) -> Gates:
    """The gates of the options."""
    from pytest_bfcl.scoring.gating import GateOptions, Gates

    options, settings = GateOptions(**session.plan.gates), session.settings
    return Gates(options, rules=settings.rules, max_errors_pct=settings.max_errors_pct)


class SessionGates:
    """Facts that only a session knows of its gates, on the controller: which were typed, which data is meant."""

    def __init__(self, session: Session, run: Run) -> None:
        self._session = session
        self._run = run
        self.options = run.checked_gates.options
        run.check_gates([spec.text for spec in session.specs], session.config.invocation_params.dir)
        if self._data_is_guessed():
            run.checked_gates.refuse_guessed_data()

    def refuse_unreachable(
        self, entries: Sequence[tuple[str, str]], skip_reason: Callable[[str], str | None], *, others: bool
    ) -> None:
        """Stop before the first request if no answers of the selected entries could meet a gate.

        ``entries``: id and category of the planned entries; ``others``: other tests run, too. Entries of earlier parts
        count as well. Gates of a configuration file do not apply to a session of other tests only, and a note reports
        this. Raises `pytest.UsageError`."""
        if not entries and not self._run.earlier.settled and self.options.wants_verdict and not self._typed():
            self._session.notices.note("gates: no verdict: no entry was collected")
            return
        with pytest_internals.users_mistakes():
            self._run.refuse_unreachable(dict(entries), skip_reason, others=others)

    def _typed(self) -> bool:
        """Whether a gate is on the command line."""
        named = named_options(self._session.config.invocation_params.args)
        return any(option.asks_verdict and f"--bfcl-{option.name}" in named for option in OPTIONS)

    def _data_is_guessed(self) -> bool:
        """Whether only ``auto`` selects the data."""
        if self._session.plan.data != "auto":
            return False
        named = any(argument.partition("::")[0].endswith(".jsonl") for argument in self._session.config.args)
        return bool(self._session.data.arguments) or not named


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
        from pytest_bfcl.reporting.report import hand_out

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
        by_hand = stopped == INTERRUPTED and session.exitstatus == pytest.ExitCode.INTERRUPTED
        within_s = HURRIED_S if by_hand or self._termination.was_requested else None
        told = self._session.plan.report, self._session.data.measured
        _, notes = hand_out(run.directory, summary, *told, within_s, self._results.pages)
        run.write_or_note(run.release)
        for note in (*notes, *run.notes):
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
