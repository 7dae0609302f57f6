"""The fixture ``ask`` and its recordings, which an extension provides (docs/own_tests.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError


class OwnTests(Protocol):
    """The module that the entry point ``ask`` of the group ``pytest_bfcl.fixtures`` names."""

    def asker_of(self, request: pytest.FixtureRequest) -> Any:
        """The value of a test's fixtures ``ask`` and ``bfcl_ask``."""

    def register_recording(self, config: pytest.Config, stop: Callable[[str], None] = ...) -> None:
        """Record requests if selected; ``stop`` ends the session with a reason."""


def own_tests() -> OwnTests:
    """Raises `UsageError` if no installed package provides it."""
    return cast("OwnTests", entry_points.require("fixtures", "ask", "the fixture ask with its recordings"))


def asker_of(request: pytest.FixtureRequest) -> Any:
    """The fixtures' value; fails the test if no extension has it."""
    try:
        found = own_tests()
    except UsageError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    return found.asker_of(request)
