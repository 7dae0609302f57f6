"""The calculator's spelling of numbers and its bounds (simulators spec §2)."""

from __future__ import annotations

import sys
import time

import pytest

from pytest_bfcl.simulators import ERROR_PREFIX, CallExecutor, create_simulator
from tests.patience import patience
from tests.simulators.hostile_texts import BOUNDED


def run(text: str) -> str:
    return CallExecutor({"MathAPI": create_simulator("MathAPI")}).execute(text)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("logarithm(10, 2, 5)", "{'result': mpf('3.3219299')}"),
        ("logarithm(0, 10, 5)", "{'result': mpf('-inf')}"),
        ("square_root(2, 10)", "{'result': Decimal('1.414213562')}"),
        ("square_root(0.1, 20)", "{'result': Decimal('0.31622776601683794198')}"),
        ("si_unit_conversion(1, 'km', 'nm')", '{"result": 999999999999.9999}'),
        ("imperial_si_conversion(7, 'kg', 'kg')", '{"result": 7}'),
        ("round_number(2.5)", '{"result": 2.0}'),
        ("round_number(3)", '{"result": 3}'),
        ("round_number(5, 300000000)", '{"result": 5}'),
        ("round_number(5, -300000000)", '{"result": 0}'),
        ("round_number(0.5, 10001)", '{"result": 0.5}'),
        ("mean([1, 2, 3])", '{"result": 2.0}'),
        ("add('a', 'b')", '{"result": "ab"}'),
        ("power(-8, 0.5)", "{'result': (1.7319121124709868e-16+2.8284271247461903j)}"),
    ],
)
def test_results(text: str, result: str) -> None:
    assert run(text) == result


def test_the_precision_of_one_call_does_not_leak() -> None:
    import mpmath

    before = mpmath.mp.dps
    run("logarithm(10, 2, 50)")
    assert mpmath.mp.dps == before


@pytest.mark.parametrize("value", ["no number", "1p9", "0x", "1e9_9"])
def test_a_text_leaves_the_limit_on_digits_alone(value: str) -> None:
    run(f"logarithm({value!r}, 10, 5)")
    assert sys.get_int_max_str_digits() == sys.int_info.default_max_str_digits


@pytest.mark.parametrize("value", ["1e999999999999", "9" * 100_000, "1p99999999"])
def test_a_long_number_in_a_text_is_refused(value: str) -> None:
    assert "too long" in run(f"logarithm({value!r}, 10, 5)")


@pytest.mark.parametrize("text", BOUNDED)
def test_too_much_ends_soon_with_an_error_text(text: str) -> None:
    start = time.perf_counter()
    result = run(text)
    assert time.perf_counter() - start < patience(1)
    assert result.startswith((ERROR_PREFIX, '{"error": '))
