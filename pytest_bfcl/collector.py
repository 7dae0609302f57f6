"""Settings of Python's garbage collector: fewer passes during a run, none over older objects or while modules load.

Ten thousand trials and the entries of the look-ahead live for the whole run, modules as long as the process. Searching
them for cycles again and again takes a fifth of a run's time, a tenth of a short command's, and finds nothing.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (500_000, 50, 100)


class Leftovers:
    """What the runs of a process left in cycles.

    Freezing sets Python's counts back, so that in a process of many runs no search of everything would ever be due.
    It is measured in allocated blocks of memory: to count frozen objects visits each of them.
    """

    def __init__(self) -> None:
        self._kept: int | None = None
        self.are_the_last = False
        """Whether the process ends with the current run."""

    def seek(self) -> None:
        """After a freeze: search everything when there is a quarter more than after the last search, Python's own rule.

        Before the first run of a process nothing is left over; before the second all of it is searched.
        """
        if self._kept is None:
            self._kept = 0
        elif sys.getallocatedblocks() * 4 >= self._kept * 5:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self._kept = sys.getallocatedblocks()


_leftovers = Leftovers()


@contextmanager
def fewer_collections(*, to_the_end: bool = False) -> Iterator[None]:
    """The collector's thresholds for a run; afterwards the old ones apply again. A collector switched off stays off.

    ``to_the_end``: the process ends with the run, so nothing that is there is searched any more, also after calls
    that do not know it.
    """
    if not gc.isenabled():
        yield
        return
    before = gc.get_threshold()
    gc.freeze()
    _leftovers.are_the_last |= to_the_end
    if not _leftovers.are_the_last:
        _leftovers.seek()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.freeze()  # the result's lines are young: the old thresholds would have them searched at once
        gc.set_threshold(*before)
        if not _leftovers.are_the_last:
            gc.unfreeze()


@contextmanager
def no_collections() -> Iterator[None]:
    """While modules load: their objects are not searched for cycles."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
