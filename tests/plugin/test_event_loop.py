"""The loop that synchronous items drive: what Ctrl-C leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from pytest_bfcl.plugin.conversations import Loop


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
