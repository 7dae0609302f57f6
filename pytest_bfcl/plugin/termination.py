"""SIGTERM ends a run as Ctrl-C does: what was answered is kept, summarised, and the exit code is 2.

A job scheduler and ``timeout`` send it. Python's default would end the process at once, and the run directory would go
on saying that the run is going on.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Generator
from types import FrameType

import pytest


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the results are being kept
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        _stop()
    else:
        loop.call_soon_threadsafe(_stop)  # raised inside a conversation it would be told as that one's exception


def _stop() -> None:
    raise KeyboardInterrupt("SIGTERM")


class Termination:
    """Takes SIGTERM for Ctrl-C while items run, unless the project has a handler of its own; on the controller."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Around all items."""
        ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        )  # fmt: skip
        if ours:
            signal.signal(signal.SIGTERM, _interrupt)
        return (yield)

    def pytest_unconfigure(self) -> None:
        """Everything is kept: from here on the signal ends the process again."""
        if signal.getsignal(signal.SIGTERM) in (_interrupt, signal.SIG_IGN):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
