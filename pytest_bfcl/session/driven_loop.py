"""An event loop that is driven from outside: while one conversation is taken, the others go on."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

STEPS_OF_A_TURN = 4
"""Turns of the event loop between two items that need not wait: from bytes on a socket to the next request sent."""
TURN_EVERY_S = 0.002
"""Items that need not wait and follow faster than this share a turn of the event loop."""


class Loop:
    """An event loop, driven from synchronous code."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._awaited: asyncio.Future[Any] | None = None
        self._turned = 0.0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run until the work is done; other tasks of the loop go on meanwhile."""
        return self.loop.run_until_complete(work)

    def wait(self, future: asyncio.Future[Any]) -> None:
        """Run until it is done, whatever it holds."""
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
        """Let the loop do what is ready, without waiting."""
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
