"""SIGTERM ends a run like Ctrl-C: pending replies get a short time, then state, summary and exit code 2.

Job schedulers and ``timeout`` send it. Python's default would end the process at once, and the run directory would
still show a run in progress. After a second signal no reply is awaited; a third, or one after the summary, ends the
process.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

SAME_SIGNAL_S = 0.3
"""Signals closer than this count as one: ``timeout`` signals the process and its group, wrappers pass Ctrl-C on."""
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
