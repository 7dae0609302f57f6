"""Our functions give what the retired set recorded, and read formulas without running them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from pytest_bfcl.decoding import decode_reply
from pytest_bfcl.extensions.retired.execution.functions import FUNCTIONS, NETWORK_FUNCTIONS
from pytest_bfcl.extensions.retired.execution.functions.science import formula
from pytest_bfcl.transcript import Reply
from tests.extensions.retired.hostile_calls import FORMULAS


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
