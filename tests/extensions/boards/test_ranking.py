"""Ranks with their intervals, ties, what decides between neighbours."""

from __future__ import annotations

import random

import pytest

from pytest_bfcl.extensions.boards.ranking import MOST, compared, ranking
from pytest_bfcl.scoring.aggregate import Mean
from pytest_bfcl.scoring.measurements import Judged, Key

Verdicts = dict[Key, Judged]


def verdicts(passed: str, category: str = "parallel") -> Verdicts:
    words = {"1": "passed", "0": "failed", "e": "error"}
    return {
        (f"{category}_{number}", 1): Judged(f"{category}_{number}", category, words[mark], None, None)
        for number, mark in enumerate(passed)
    }


EVEN = Mean(("parallel", "simple_java", "live_simple"))


def test_what_decides_between_two() -> None:
    first = verdicts("1" * 90 + "0" * 10) | verdicts("10", "simple_java")
    second = verdicts("1" * 60 + "0" * 39 + "1") | verdicts("01", "simple_java")
    found = compared("a", first, "b", second, EVEN)
    assert found.difference == pytest.approx(0.5 * 0.29)
    assert found.only_first[0] == "simple_java_0"  # of two entries each weighs most
    assert len(found.only_first) == 31
    assert found.only_second == ("simple_java_1", "parallel_99")


def test_only_what_both_were_judged_on_is_compared() -> None:
    found = compared("a", verdicts("1e1"), "b", verdicts("01e"), EVEN)
    assert (found.only_first, found.only_second, found.difference) == (("parallel_0",), (), 1.0)
    assert found.tie


def test_a_difference_within_the_noise_is_a_tie() -> None:
    models = {"clear": verdicts("1" * 190 + "0" * 10), "a": verdicts("1" * 100 + "0" * 100),
              "b": verdicts("0" + "1" * 98 + "0" * 101)}  # fmt: skip
    found = ranking(models, ["clear", "a", "b"], EVEN)
    assert found.ranks == {"clear": (1, 1), "a": (2, 3), "b": (2, 3)}
    assert [pair.tie for pair in found.neighbours] == [False, True]


def test_with_many_models_neighbours_are_compared_only() -> None:
    models = {str(number): verdicts("1" * 5) for number in range(MOST + 1)}
    found = ranking(models, list(models), EVEN)
    assert found.ranks == {}
    assert len(found.neighbours) == MOST


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.0, 0.02, 0.05])
def test_the_interval_of_a_rank_holds_the_true_rank(apart: float) -> None:
    """Six models, in live entries of documents that are alike; equal models share all ranks between them."""
    dice, inside, trials = random.Random(4), [0] * 6, 250
    for _ in range(trials):
        models: dict[str, Verdicts] = {str(number): {} for number in range(6)}
        for document in range(80):
            hard = dice.gauss(0, 0.15)
            for place in range(3):
                entry = f"live_simple_{3 * document + place}-{document}-{place}"
                for number, (_, found) in enumerate(models.items()):
                    right = dice.random() < 0.7 - apart * number + hard
                    found[entry, 1] = Judged(entry, "live_simple", "passed" if right else "failed", None, None)
        order = sorted(models, key=lambda name: -sum(j.outcome == "passed" for j in models[name].values()))
        for name, (low, high) in ranking(models, order, EVEN).ranks.items():
            true = range(1, 7) if not apart else [int(name) + 1]
            inside[int(name)] += low <= max(true) and high >= min(true)
            if not apart:
                inside[int(name)] -= not (low == 1 and high == 6)
    assert all(share / trials >= 0.93 for share in inside), inside
