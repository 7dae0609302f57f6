"""The loop fixture where pytest-asyncio is not active: our own runner."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import ModuleType

import pytest

from pytest_bfcl.plugin.conversations import Loop
from pytest_bfcl.plugin.fixtures import plugin_module
from pytest_bfcl.plugin.session import BfclSession


def loop_fixture(bfcl: BfclSession) -> ModuleType:
    """A plugin module with the ``bfcl_loop`` fixture."""

    @pytest.fixture(scope="session")
    def bfcl_loop() -> Iterator[Loop]:
        """The session's event loop."""
        with asyncio.Runner() as runner:
            loop = Loop(runner.get_loop())
            try:
                yield loop
            finally:
                loop.run(bfcl.conversations.aclose())

    return plugin_module(bfcl_loop)
