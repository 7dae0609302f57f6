"""The session's event loop: driven from synchronous items, and shared with pytest-asyncio where that is active."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import cache
from typing import Any

import pytest

from pytest_bfcl.session.driven_loop import Loop

OLDEST_ASYNCIO = (1, 1)
"""Older pytest-asyncio knows only the async fixtures of their own items."""

Close = Callable[[], Coroutine[Any, Any, None]]


def loop_fixture(config: pytest.Config, close: Close) -> Any:
    """The fixture ``bfcl_loop``; ``close`` is awaited in the loop before it ends.

    Where pytest-asyncio is active its session loop is ours too, so users' async models share it.
    """
    return _shared_loop(close) if has_asyncio(config) else _own_loop(close)


def _own_loop(close: Close) -> Any:
    @pytest.fixture(scope="session")
    def bfcl_loop() -> Iterator[Loop]:
        """The session's event loop."""
        with asyncio.Runner() as runner:
            loop = Loop(runner.get_loop())
            try:
                yield loop
            finally:
                loop.run(close())

    return bfcl_loop


def _shared_loop(close: Close) -> Any:
    import pytest_asyncio

    @pytest_asyncio.fixture(scope="session", loop_scope="session")
    async def bfcl_loop() -> AsyncIterator[Loop]:
        """The session's event loop."""
        yield Loop(asyncio.get_running_loop())
        await close()

    return bfcl_loop


def has_asyncio(config: pytest.Config) -> bool:
    """Whether pytest-asyncio is active, by its entry point or by ``-p``, and new enough to share its loop with us."""
    active = any(map(config.pluginmanager.hasplugin, ("asyncio", "pytest_asyncio", "pytest_asyncio.plugin")))
    return active and _asyncio_version() >= OLDEST_ASYNCIO


@cache
def _asyncio_version() -> tuple[int, ...]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return tuple(int(part) for part in version("pytest-asyncio").split(".")[:2])
    except (PackageNotFoundError, ValueError):  # a checkout, a development version
        return OLDEST_ASYNCIO
