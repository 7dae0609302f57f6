"""The loop that synchronous items drive: spare time, and what Ctrl-C leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from pytest_bfcl.plugin.event_loop import Loop


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with asyncio.Runner() as runner:
        yield runner.get_loop()


def test_ctrl_c_in_a_wait_does_not_stop_what_runs_next(loop: asyncio.AbstractEventLoop) -> None:
    driver, awaited = Loop(loop), loop.create_future()

    def interrupted() -> None:
        awaited.set_result(None)  # its callback is scheduled, and will run in the next turn of the loop
        raise KeyboardInterrupt

    loop.call_soon(interrupted)
    with pytest.raises(KeyboardInterrupt):
        driver.wait(awaited)
    driver.run(asyncio.sleep(0.001))


def test_spare_time_is_used_while_nothing_else_is_to_do(loop: asyncio.AbstractEventLoop) -> None:
    left = 5

    def spare() -> bool:
        nonlocal left
        left -= left > 0
        return left > 0

    driver = Loop(loop, spare)
    driver.wait(loop.create_task(asyncio.sleep(0.05)))
    assert left == 0
    left = 3
    ready = loop.create_future()
    ready.set_result(None)
    driver.wait(ready)
    driver.turn()
    assert left >= 2, "no time is taken from what is ready"
