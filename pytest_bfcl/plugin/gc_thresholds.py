"""Python's garbage collector while items run (`pytest_bfcl.collector`)."""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

from pytest_bfcl.collector import fewer_collections


class GcThresholds:
    """Sets the collector's thresholds while items run; afterwards everything is as it was.

    But in a process that ends with the session, pytest and Python search everything once more at its end. There they
    are spared the modules and what else was there before the items, which is most.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._ends = hasattr(config, "workerinput") or is_whole_command(config)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Around all items."""
        with fewer_collections(to_the_end=self._ends):
            return (yield)


def is_whole_command(config: pytest.Config) -> bool:
    """Whether the session is what its process was started for, not one of a program that calls pytest."""
    return list(config.invocation_params.args) == sys.argv[1:]
