"""Python's garbage collector while items run (`pytest_bfcl.running.collector`)."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from pytest_bfcl.running import fewer_collections


class GcThresholds:
    """Sets the collector's thresholds while items run; afterwards everything is as it was."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Around all items."""
        with fewer_collections():
            return (yield)
