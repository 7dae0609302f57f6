"""Worker processes: look-up and nothing else, limits that hold, replacement after a broken call."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_bfcl.extensions.retired.execution.pool import Executor
from pytest_bfcl.extensions.sql.outcome import KINDS, Outcome
from tests.extensions.retired.hostile_calls import FORMULAS, LIMITED, NAMES
from tests.patience import patience

TABLES = {
    "books": {"columns": ["id INTEGER", "title TEXT", "price REAL"], "rows": [[1, "Lanterns", 18.0], [2, "Tides", 9.5]]}
}


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with Executor() as made:
        yield made


def test_a_thousand_calls_take_seconds(executor: Executor) -> None:
    executor.call("math_gcd", {"a": 12, "b": 18})
    started = time.perf_counter()
    assert all(executor.call("math_gcd", {"a": 12, "b": i + 1}).ok for i in range(1000))
    assert time.perf_counter() - started < patience(10)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_table_is_called(executor: Executor, name: str) -> None:
    for arguments in ({}, {"name": "os"}, {"command": "touch here"}):
        assert executor.call(name, arguments).kind == "unknown_function"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments"), LIMITED, ids=[f"{name}-{i}" for i, (name, _) in enumerate(LIMITED)])
def test_limits_hold(executor: Executor, name: str, arguments: dict) -> None:
    started = time.perf_counter()
    outcome = executor.call(name, arguments)
    assert not outcome.ok
    assert outcome.kind in KINDS
    assert time.perf_counter() - started < patience(15)
    assert executor.call("digit_sum", {"number": 123}) == Outcome(6)  # the next call finds a worker in order


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_reach_nothing(executor: Executor, text: str) -> None:
    assert not executor.call("estimate_derivative", {"function": text, "x": 1}).ok


@pytest.mark.parametrize(
    "arguments",
    [{None: 1}, {"a": 1j, "b": 2}, {"a": {1, 2}, "b": 1}, {"a": b"x", "b": 1}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, {}],
)
def test_arguments_that_do_not_fit(executor: Executor, arguments: dict) -> None:
    assert executor.call("math_gcd", arguments).kind == "arguments"


def test_deep_arguments(executor: Executor) -> None:
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    assert not executor.call("sort_array", {"array": nested}).ok


def test_too_many_calls(executor: Executor) -> None:
    outcomes = executor.call_all([{"digit_sum": {"number": 1}}] * 5_000)
    assert {outcome.kind for outcome in outcomes} == {"limit"}


def test_threads_share_the_workers(executor: Executor) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda i: executor.call("digit_sum", {"number": i}).value, range(200)))
    assert found == [sum(map(int, str(i))) for i in range(200)]


def test_statements_read(executor: Executor) -> None:
    outcome = executor.query(TABLES, "SELECT title, price * 2 AS double FROM books WHERE price > 10")
    assert outcome.value == {"columns": ["title", "double"], "rows": [["Lanterns", 36.0]]}


def test_nothing_is_left_behind(executor: Executor) -> None:
    for path in ("bfcl-stolen.db", "bfcl-stolen.txt", "bfcl-stolen.so", "here"):
        assert not Path(path).exists()


def test_workers_see_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with Executor(1) as made:
        made.call("digit_sum", {"number": 1})
        environment = Path(f"/proc/{process_of(made)}/environ")
        if environment.exists():
            assert "secret" not in environment.read_text()


def process_of(executor: Executor) -> int:
    """The process of an executor's one worker, which has been asked."""
    running = executor._idle.queue[0]._running
    assert running is not None
    return running._process.pid


def test_closing_ends_the_workers() -> None:
    made = Executor(1)
    made.call("digit_sum", {"number": 1})
    process = process_of(made)
    made.close()
    if os.name == "posix":
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
