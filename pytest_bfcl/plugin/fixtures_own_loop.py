"""The loop fixture where pytest-asyncio is not active: our own runner."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from pytest_bfcl.plugin.conversations import Loop
from pytest_bfcl.plugin.session import SESSION


@pytest.fixture(scope="session")
def bfcl_loop(request: pytest.FixtureRequest) -> Iterator[Loop]:
    """The session's event loop."""
    with asyncio.Runner() as runner:
        loop = Loop(runner.get_loop())
        try:
            yield loop
        finally:
            loop.run(request.config.stash[SESSION].conversations.aclose())
