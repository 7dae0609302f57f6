"""MathAPI: sums over what others found. It has no state, so it is rarely alone in a task."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.moves import Domain, Gift, Kind, Measure, Move, State, amount, one_of
from pytest_bfcl.json_types import Parsed


def world(rng: Random) -> Parsed:
    """There is nothing to set."""
    return {}


def _several(sums: object, rng: Random) -> list[float]:
    return [round(rng.randrange(21, 899) / 10 + 0.05, 2) for _ in range(rng.randint(3, 5))]


def _result(near: str, far: str) -> dict[str, Gift]:
    return {"number": Gift(lambda r: r["result"] if isinstance(r["result"], int | float) else None, (near,), (far,))}


_LIST: dict[str, Any] = {"takes": {"numbers": "numbers"}}

_FOUND = Measure(
    "result", lambda r: r["result"], (15, 25, 40, 60), subject=("number", lambda a, r: r["result"]), whole=False
)

DOMAIN = Domain(
    "MathAPI",
    world,
    kinds={
        "numbers": Kind(_several),
        "number": Kind(amount(12, 900)),
        "signed": Kind(lambda sums, rng: rng.choice((-1, 1)) * (rng.randrange(12, 900) + 0.5)),
        "kilometres": Kind(amount(30, 900), ("{} km", "{} kilometers")),
        "part": Kind(amount(2, 11)),
        "places": Kind(one_of(1, 2, 3, 4), ("{} decimal places", "{} decimals")),
        "factor": Kind(one_of(3, 4, 6, 7, 12)),
        "base": Kind(one_of(2, 3, 5, 10)),
    },
    moves=(
        Move("mean", ("[calculate|compute|work out|find] [the |][mean|average|mean value|average value] [of|for] {numbers}",), ask=("What is the [mean|average] of {numbers}?",),
             gives=_result("that [mean|average]", "the mean"), weight=2, measure=_FOUND, **_LIST),
        Move("standard_deviation", ("[work out|compute] the standard deviation of {numbers}",),
             ask=("What is the standard deviation of {numbers}?",), gives=_result("that deviation", "the standard deviation"), **_LIST),
        Move("max_value", ("pick the largest of {numbers} with the calculator", "[find|determine] the maximum of {numbers}"), gives=_result("that value", "the largest value"),
             state=State("it is the last one of them", lambda a, r, v: r["result"] == a["numbers"][-1]), **_LIST),
        Move("sum_values", ("[add|sum] up {numbers}",), ask=("What do {numbers} add up to?",), gives=_result("that sum", "the sum"), **_LIST),
        Move("multiply", ("multiply {a} by {b}",), {"a": "number", "b": "factor"}, ("What is {a} times {b}?",),
             gives=_result("the product", "the product")),
        Move("subtract", ("subtract {b} from {a}",), {"a": "number", "b": "part"}, gives=_result("the difference", "the difference")),
        Move("divide", ("divide {a} by {b}",), {"a": "number", "b": "factor"}, gives=_result("the quotient", "the quotient")),
        Move("percentage", ("express {part} as a percentage of {whole}",), {"part": "part", "whole": "number"},
             ("What percentage of {whole} is {part}?",)),
        Move("logarithm", ("[calculate|compute|take] the logarithm to the base {base} of {value}, [precise|accurate] to {precision}",),
             {"base": "base", "value": "number", "precision": "places"}),
        Move("square_root", ("[take|compute] the square root of {number} to {precision}",), {"number": "signed", "precision": "places"},
             fails=lambda config, given, fails: None, weight=0.4),
        Move("round_number", ("round {number} to {decimal_places}",), {"number": "number", "decimal_places": "places"},
             after=frozenset({"number"}), gives=_result("the rounded value", "the rounded value")),
        Move("imperial_si_conversion", ("convert {value} from km to miles",), {"value": "kilometres"},
             fixed={"unit_in": "km", "unit_out": "miles"}, weight=2,
             gives={"miles": Gift(lambda r: r["result"], ("that many miles",), ("the distance in miles",))}),
    ),
    scenes=("I need a few figures.", "Let me have some numbers worked out."),
)  # fmt: skip
