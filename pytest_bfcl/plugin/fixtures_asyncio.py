"""Twin of the loop fixture for pytest-asyncio: its session loop becomes ours, so users' async models share it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import ModuleType

import pytest_asyncio

from pytest_bfcl.plugin.conversations import Loop
from pytest_bfcl.plugin.fixtures import plugin_module
from pytest_bfcl.plugin.session import BfclSession


def loop_fixture(bfcl: BfclSession) -> ModuleType:
    """A plugin module with the ``bfcl_loop`` fixture."""

    @pytest_asyncio.fixture(scope="session", loop_scope="session")
    async def bfcl_loop() -> AsyncIterator[Loop]:
        """The session's event loop."""
        yield Loop(asyncio.get_running_loop())
        await bfcl.conversations.aclose()

    return plugin_module(bfcl_loop)
