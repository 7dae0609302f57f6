"""Python's parser in several threads at once, and without warnings."""

from __future__ import annotations

import ast
import gc
import sys
import threading
import time

import pytest

from pytest_bfcl.python_text import parse_python

CALLS = "[" + ", ".join(f"f(a={n}, b=[1, 2, 3], c='x')" for n in range(60)) + "]"


class _Slow:
    """Gives other threads a turn wherever the garbage collector runs, inside the parser too."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        for _ in range(3):
            pass


@pytest.fixture
def many_switches() -> object:
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(5)
    yield None
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


@pytest.mark.slow
def test_threads_do_not_disturb_each_other(many_switches: object) -> None:
    wanted = ast.dump(ast.parse(CALLS, mode="eval"))
    until = time.monotonic() + 0.3
    troubles: list[BaseException | str] = []

    def work() -> None:
        while time.monotonic() < until:
            _Slow()
            try:
                if ast.dump(parse_python(CALLS)) != wanted:
                    troubles.append("another tree")
            except Exception as error:
                troubles.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not troubles
