"""The non-inferiority gate: what it says, and by simulation how often it passes a model that is worse by the margin."""

from __future__ import annotations

import random

import pytest

from pytest_bfcl.scoring.comparison import Comparison, compare
from pytest_bfcl.scoring.measurements import Judged, Key
from pytest_bfcl.scoring.noninferiority import Margin, noninferior

CATEGORIES = ("multi_turn_base", "multi_turn_miss_param")


def verdicts(passed: dict[str, bool]) -> dict[Key, Judged]:
    return {
        (name, 1): Judged(name, name.rpartition("_")[0], "passed" if right else "failed", None, None)
        for name, right in passed.items()
    }


def compared(before: dict[str, bool], after: dict[str, bool]) -> Comparison:
    return compare(verdicts(before), verdicts(after))


def test_a_small_sample_does_not_meet_it_and_is_told_how_many_would() -> None:
    same = {f"simple_python_{n}": n % 2 == 0 for n in range(30)}
    check = noninferior(compared(same, same), Margin(points=1.5))
    assert not check.ok
    assert "is not ruled out; about " in check.why
    many = {f"simple_python_{n}": n % 2 == 0 for n in range(400)}
    check = noninferior(compared(many, many), Margin(points=1.5))
    assert check.ok
    assert check.why.endswith("a loss of more than 1.50 points is ruled out")
    assert noninferior(compared(many, many), Margin(kept=97.0)).ok


def simulated(dice: random.Random, loss: float, entries: int) -> Comparison:
    """Two runs whose true accuracies differ by ``loss``; variants of one entry are alike, as in multi-turn."""
    before, after = {}, {}
    for number in range(entries):
        hard = dice.random() < 0.4
        for category in CATEGORIES:
            right = 0.25 if hard else 0.9
            before[f"{category}_{number}"] = dice.random() < right
            after[f"{category}_{number}"] = dice.random() < right - loss
    return compared(before, after)


@pytest.mark.slow
@pytest.mark.parametrize(("points", "entries"), [(1.5, 200), (5.0, 100), (10.0, 40)])
def test_a_model_worse_by_exactly_the_margin_passes_in_at_most_one_run_of_twenty(points: float, entries: int) -> None:
    dice = random.Random(11)
    margin = Margin(points=points)
    passed = sum(noninferior(simulated(dice, points / 100, entries), margin).ok for _ in range(2000))
    assert passed / 2000 <= 0.05


@pytest.mark.slow
def test_an_equal_model_passes_where_the_sample_can_tell() -> None:
    dice = random.Random(12)
    passed = sum(noninferior(simulated(dice, 0.0, 200), Margin(points=10.0)).ok for _ in range(300))
    assert passed / 300 >= 0.85
