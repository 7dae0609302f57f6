"""The session's event loop: driven by synchronous items, and shared with pytest-asyncio if that is active."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import cache
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

STEPS_OF_A_TURN = 4
"""Steps of the event loop between two items that need not wait: from bytes on a socket to the next request."""
TURN_EVERY_S = 0.002
"""Items that need not wait and follow within this time share a step of the event loop."""


class Loop:
    """An event loop, driven from synchronous code."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._awaited: asyncio.Future[Any] | None = None
        self._turned = 0.0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run until the work is done; other tasks of the loop continue meanwhile."""
        return self.loop.run_until_complete(work)

    def wait(self, future: asyncio.Future[Any]) -> None:
        """Run until it is done, in any case."""
        self._awaited = future
        future.add_done_callback(self._arrived)
        try:
            self.loop.run_forever()
        finally:
            self._awaited = None
            future.remove_done_callback(self._arrived)
            self._turned = self.loop.time()

    def _arrived(self, future: asyncio.Future[Any]) -> None:
        if future is self._awaited:  # Ctrl-C in between: or the loop would be stopped when it runs next
            self.loop.stop()

    def turn(self) -> None:
        """Run what is ready, without waiting."""
        if self.loop.time() - self._turned < TURN_EVERY_S:
            return
        self._step = self.loop.call_soon(self._turn, STEPS_OF_A_TURN)
        try:
            self.loop.run_forever()
        finally:
            self._step.cancel()  # Ctrl-C: or the loop would be stopped when it runs next
            self._turned = self.loop.time()

    def _turn(self, left: int) -> None:
        if left:
            self._step = self.loop.call_soon(self._turn, left - 1)
        else:
            self.loop.stop()


OLDEST_ASYNCIO = (1, 1)
"""Older pytest-asyncio knows only the async fixtures of their own items."""

Close = Callable[[], Coroutine[Any, Any, None]]


def loop_fixture(config: pytest.Config, close: Close) -> Any:
    """The fixture ``bfcl_loop``; ``close`` is awaited in the loop before it ends. If pytest-asyncio is active, its
    session loop is also ours, so users' async models share it.

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
    """Whether pytest-asyncio is active, by its entry point or ``-p``, and new enough to share its loop with us."""
    active = any(map(config.pluginmanager.hasplugin, ("asyncio", "pytest_asyncio", "pytest_asyncio.plugin")))
    return active and _asyncio_version() >= OLDEST_ASYNCIO


@cache
def _asyncio_version() -> tuple[int, ...]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return tuple(int(part) for part in version("pytest-asyncio").split(".")[:2])
    except (PackageNotFoundError, ValueError):  # a checkout, a development version
        return OLDEST_ASYNCIO
