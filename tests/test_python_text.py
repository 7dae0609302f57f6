"""Python's parser in several threads at once, and without warnings."""

from __future__ import annotations

import ast
import gc
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_bfcl.plain_text import parse_python

CALLS = "[" + ", ".join(f"f(a={n}, b=[1, 2, 3], c='x')" for n in range(60)) + "]"


class Slow:
    """Gives other threads a turn wherever the garbage collector runs, inside the parser too."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        for _ in range(3):
            pass


@pytest.fixture
def many_switches() -> Iterator[None]:
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(5)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("many_switches")
def test_threads_do_not_disturb_each_other() -> None:
    def work(text: str) -> str:
        Slow()
        return ast.dump(parse_python(text))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, [CALLS] * 40)) == {ast.dump(ast.parse(CALLS, mode="eval"))}


def test_a_warning_is_no_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ast.unparse(parse_python(r"f(a='\d', b=1or 2)")) == r"f(a='\\d', b=1 or 2)"
