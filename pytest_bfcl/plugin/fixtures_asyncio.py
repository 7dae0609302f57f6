"""Twin of the loop fixture for pytest-asyncio: its session loop becomes ours, so users' async models share it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from pytest_bfcl.plugin.conversations import Loop
from pytest_bfcl.plugin.session import SESSION


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def bfcl_loop(request: pytest.FixtureRequest) -> AsyncIterator[Loop]:
    """The session's event loop."""
    yield Loop(asyncio.get_running_loop())
    await request.config.stash[SESSION].conversations.aclose()
