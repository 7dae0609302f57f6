"""Worker processes: look-up and nothing else, limits that hold, replacement after a broken call."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.decoding import decode_reply
from pytest_bfcl.extensions.retired.carrying import NotAQuery, statement_of
from pytest_bfcl.extensions.retired.functions import FUNCTIONS, NETWORK_FUNCTIONS
from pytest_bfcl.extensions.retired.functions.science import formula
from pytest_bfcl.extensions.retired.pool import Executor
from pytest_bfcl.extensions.sql import KINDS, Outcome
from pytest_bfcl.transcript import Reply
from tests.patience import patience

NAMES = [
    "__import__", "eval", "exec", "open", "os.system", "subprocess.run", "system", "compile", "getattr", "print",
    "breakpoint", "__builtins__", "globals", "math_gcd.__globals__", "math_gcd.__code__", "FUNCTIONS", "main", "",
    "formula", "_limit", "numbers.math_gcd", "pytest_bfcl.extensions.retired.pool.Executor", "\x00", "math_gcd\n", "É",
]  # fmt: skip
"""Not in the table, whatever the arguments are."""

LIMITED: list[tuple[str, dict[str, Any]]] = [
    ("math_gcd", {"a": 1.5, "b": float("nan")}),  # Euclid never ends
    ("calculate_future_value", {"present_value": 1, "interest_rate": 10**30, "periods": 10**9}),
    ("order_food", {"item": ["x"], "quantity": [10**12], "price": ["x"]}),  # a text of 10**12 characters
    ("calculate_displacement", {"initial_velocity": 9, "acceleration": 9, "time": 10**3000}),
    ("get_fibonacci_sequence", {"n": 10**12}),
    ("get_fibonacci_sequence", {"n": 4_999}),  # computed, but too long to show
    ("math_factorial", {"n": 10**9}),
    ("calculate_permutations", {"n": 10**9, "k": 1}),
    ("savings_plan", {"monthly_amount": 1, "months": 10**9}),
    ("calculate_investment_value", {
        "initial_investment": 1, "annual_contribution": 1, "years": 10**9, "annual_return": 0.1, "inflation_rate": [],
    }),
    ("maxPoints", {"points": [[i, i * i] for i in range(600)]}),
    ("get_prime_factors", {"number": 10**40}),
    ("calc_binomial_probability", {"n": 10**9, "k": 2, "p": 0.5}),
    ("add_days", {"start": "2024-01-01", "days": 10**30}),
    ("reverse_text", {"text": "x" * 2_000_000}),
]  # fmt: skip
"""Of the table, but they must end in an error, soon."""

FORMULAS = [
    "lambda x: __import__('os').system('id')", "lambda x: open('/etc/passwd').read()", "lambda x: x.__class__",
    "lambda x: (lambda: x)()", "lambda x: [y for y in x]", "lambda x, y: x", "lambda *x: x", "x**2", "def f(x): pass",
    "lambda x: 'a' * 10**9", "lambda x: f'{x}'", "lambda x: x if x else x", "lambda x: math.__dict__", "lambda x: y",
    "lambda x: pow(x, 2, 3, 4, 5)", "lambda x: " + "(" * 150 + "x" + ")" * 150 + "**" * 3, "lambda x: True", "",
    "lambda x=__import__('os'): x", "lambda x: " + "-" * 1500 + "x", "lambda x: 9**9**9**9", "lambda x: x@x",
]  # fmt: skip


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with Executor() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments"), LIMITED, ids=[f"{name}-{i}" for i, (name, _) in enumerate(LIMITED)])
def test_limits_hold(executor: Executor, name: str, arguments: dict) -> None:
    started = time.perf_counter()
    outcome = executor.call(name, arguments)
    assert not outcome.ok
    assert outcome.kind in KINDS
    assert time.perf_counter() - started < patience(15)
    assert executor.call("digit_sum", {"number": 123}) == Outcome(6)  # the next call finds a worker in order


def test_only_functions_of_the_table_are_called(executor: Executor) -> None:
    assert {executor.call(name, {}).kind for name in NAMES} == {"unknown_function"}


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


@pytest.mark.golden
def test_every_recorded_result_is_reproduced_to_the_bit(golden_dir: Path) -> None:
    compared = 0
    with gzip.open(golden_dir / "exec_expected.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        for text, recorded in zip(row["ground_truth"], row["execution_result"], strict=True):
            (call,) = decode_reply(Reply(text=text), "prompt")
            name, arguments = call
            assert (name in FUNCTIONS) != (name in NETWORK_FUNCTIONS)
            if name in FUNCTIONS and arguments:
                compared += 1
                assert json.loads(json.dumps(FUNCTIONS[name](**arguments))) == recorded, text
    assert compared == 268


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("to_roman_numeral", {"number": 1994}, "MCMXCIV"),
        ("digit_sum", {"number": -405}, 9),
        ("moving_average", {"numbers": [1, 2, 6], "window": 2}, [1.5, 4.0]),
        ("summarise_numbers", {"numbers": [4, 1]}, {"smallest": 1, "largest": 4, "mean": 2.5, "median": 2.5}),
        ("shift_cipher", {"text": "xyz, Abc!", "shift": 3}, "abc, Def!"),
        ("days_between", {"start": "2024-02-28", "end": "2024-03-01"}, 2),
        ("weekday_name", {"day": "1969-07-20"}, "Sunday"),
        ("weekly_schedule", {"tasks": ["a", "b", "c"], "days": ["x", "y"]}, {"x": ["a", "c"], "y": ["b"]}),
        ("convert_temperature_scale", {"degrees": 212, "from_scale": "Fahrenheit", "to_scale": "celsius"}, 100.0),
        ("maxPoints", {"points": []}, 0),
        ("maxPoints", {"points": [[1, 1]]}, 1),
        ("get_fibonacci_number", {"n": 1}, 0),
        ("bounding_box", {"points": [[0, 4], [3, -1]]}, {"left": 0, "bottom": -1, "right": 3, "top": 4}),
    ],
)
def test_values(name: str, arguments: dict, result: object) -> None:
    assert FUNCTIONS[name](**arguments) == result


def test_formulas_are_computed() -> None:
    assert formula("lambda t: math.sin(t)**2 + cos(t)**2 - -1 * math.pi / math.pi")(0.3) == pytest.approx(2)


@pytest.mark.parametrize("text", FORMULAS)
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError, RecursionError)):
        formula(text)(1.0)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"table": 't" UNION SELECT 1 --'},
        {"table": "a.b"},
        {"table": ["t"]},
        {"table": "t", "columns": [1]},
        {"table": "t", "columns": {"a": 1}},
        {"table": "t", "limit": "1"},
        {"table": "t", "limit": True},
        {"table": "t", "order_by": ["a"], "descending": "yes"},
        {"table": "t", "sql_keyword": "DELETE"},
        {"table": "t", "statement": "DROP TABLE t"},
        {"table": "t", None: 1},
    ],
)
def test_refused(arguments: dict) -> None:
    with pytest.raises(NotAQuery):
        statement_of(arguments)
