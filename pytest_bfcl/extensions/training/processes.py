"""Work spread over processes of this machine."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.troubles import HarnessTrouble

Item = TypeVar("Item")
Result = TypeVar("Result")
MOST = 512
AHEAD = 4
"""Items for each process that are begun before the first result is taken."""


def processes(text: str) -> int:
    """The value of an option: ``auto`` (one a core), or a number. Raises `argparse.ArgumentTypeError`."""
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text} is not valid: auto, or a number from 1 to {MOST}")
    return int(text)


def spread(work: Callable[[Item], Result], items: Iterable[Item], count: int) -> Iterator[Result]:
    """The result of each item, in order; with one process in this one.

    Ctrl-C reaches every process of a terminal: only the caller hears it, and ends the others. Raises `HarnessError` if
    a process is lost (memory, a signal).
    """
    if count == 1:
        yield from map(work, items)
        return
    left = iter(items)
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _deaf) as pool:
        try:
            begun = deque(pool.submit(work, item) for item in islice(left, AHEAD * count))
            while begun:
                found = begun.popleft().result()
                begun.extend(pool.submit(work, item) for item in islice(left, 1))
                yield found
        except BrokenProcessPool:
            told = "a process that worked was ended (out of memory?): take fewer"
            raise HarnessError(HarnessTrouble.WORKER_CRASH, told) from None
        finally:  # nothing is left, or nobody waits for it
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()


def _deaf() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
