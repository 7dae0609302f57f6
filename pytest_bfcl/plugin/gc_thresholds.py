"""Python's garbage collector during a run: less often, and not over what collection made.

Ten thousand items and the entries of the look-ahead live for the whole run. Searching them for cycles again and again
takes a fifth of the process's time and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

THRESHOLDS = (20_000, 50, 100)


class GcThresholds:
    """Sets the collector's thresholds while items run; afterwards everything is as it was."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Around all items."""
        if not gc.isenabled():
            return (yield)
        before = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)
        try:
            return (yield)
        finally:
            gc.set_threshold(*before)
            gc.unfreeze()
