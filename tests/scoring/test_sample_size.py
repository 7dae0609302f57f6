"""Sample sizes hold what they promise, by simulation."""

from __future__ import annotations

import random

import pytest

from pytest_bfcl.scoring.gate_scope import entries_needed, expected_half_width


@pytest.mark.parametrize(
    ("points", "population", "needed"), [(2, 10**9, 2401), (2, 400, 343), (5, 200, 132), (2, 1, 1)]
)
def test_known_sizes(points: int, population: int, needed: int) -> None:
    assert entries_needed(points / 100, population) == needed


def test_the_sample_is_as_near_as_promised() -> None:
    dice = random.Random(5)
    whole = [number < 200 for number in range(400)]
    size = entries_needed(0.05, len(whole))
    near = sum(abs(sum(dice.sample(whole, size)) / size - 0.5) <= 0.05 + 1e-9 for _ in range(3000))
    assert near / 3000 >= 0.94


def test_the_width_of_what_was_asked() -> None:
    assert expected_half_width([1] * 2401) == pytest.approx(0.02, abs=1e-5)
    assert expected_half_width([]) == expected_half_width([155]) == 1.0
    assert expected_half_width([31] * 5, alike=0.0) == pytest.approx(2.776445 * 0.5 / 155**0.5, abs=1e-5)
    assert expected_half_width([31] * 5) == pytest.approx(2.776445 * 0.5 * (7 / 155) ** 0.5, abs=1e-5)
