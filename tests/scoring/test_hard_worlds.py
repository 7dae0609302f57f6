"""Five worlds in which clusters are few and uneven: intervals hold 93 to 97.5 %, equal models differ in 7 % at most."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pytest_bfcl.extensions.boards.published import PublishedBoard, Row, compared
from pytest_bfcl.scoring.statistics import (
    PairTally,
    Tally,
    category_interval,
    interval,
    paired_spread,
    spread_of,
    student_point,
)

SCENARIOS = 5
TRIALS = 600
Source = np.random.Generator
Verdicts = list[np.ndarray]


def heavy_tails(source: Source) -> Verdicts:
    """Some scenarios are far from the others."""
    rates = 1 / (1 + np.exp(-(0.5 + 0.5 * source.standard_t(3, SCENARIOS))))
    return [source.random(31) < rate for rate in rates]


def chains(source: Source) -> Verdicts:
    """A failure makes the next one likelier."""
    found = []
    for rate in source.beta(6, 4, SCENARIOS):
        right, scenario = True, []
        for _ in range(31):
            right = bool(source.random() < (rate if right else 0.4 * rate))
            scenario.append(right)
        found.append(np.array(scenario))
    return found


def informative_sizes(source: Source) -> Verdicts:
    """Larger scenarios are easier."""
    found = []
    for size in source.integers(12, 60, SCENARIOS):
        rate = np.clip(source.beta(6, 4) + 0.006 * (size - 36), 0.02, 0.98)
        found.append(source.random(size) < rate)
    return found


def missing_not_at_random(source: Source) -> Verdicts:
    """Wrong answers end in an error more often, in some scenarios much more often."""
    found = []
    for rate in source.beta(6, 4, SCENARIOS):
        right = source.random(31) < rate
        lost = source.random(31) < np.where(right, 0.05, source.choice([0.05, 0.5]))
        found.append(right[~lost])
    return found


WORLDS: dict[str, Callable[[Source], Verdicts]] = {
    "heavy tails": heavy_tails,
    "chains of failures": chains,
    "informative sizes": informative_sizes,
    "missing not at random": missing_not_at_random,
}


def truth(world: Callable[[Source], Verdicts]) -> float:
    """What the share tends to."""
    source = np.random.default_rng(99)
    every = np.concatenate([verdicts for _ in range(6000) for verdicts in world(source)])
    return float(every.mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_intervals_of_five_scenarios_hold(name: str) -> None:
    world, source = WORLDS[name], np.random.default_rng(7)
    wanted, held = truth(world), [0, 0]
    for _ in range(TRIALS):
        found = Tally()
        for number, verdicts in enumerate(world(source)):
            for place, right in enumerate(verdicts):
                found.add(str(number), bool(right), f"{number}-{place}")
        spread = spread_of({"memory_kv": 1.0}, {"memory_kv": found})
        for kind, bounds in enumerate((category_interval("memory_kv", found), interval(found.accuracy or 0.0, spread))):
            assert bounds is not None
            held[kind] += bounds[0] <= wanted <= bounds[1]
    error = 100 * (0.05 * 0.95 / TRIALS) ** 0.5
    assert all(93 - error <= 100 * each / TRIALS <= 97.5 + error for each in held), held


@pytest.mark.slow
def test_equal_models_that_differ_by_scenario_are_not_told_apart() -> None:
    source, apart = np.random.default_rng(7), 0
    for _ in range(TRIALS):
        found = PairTally()
        for number, shift in enumerate(source.normal(0, 0.12, SCENARIOS)):
            size = int(source.integers(15, 50))
            before = source.random(size) < 0.6
            after = np.where(source.random(size) < 0.5, before, source.random(size) < np.clip(0.6 + shift, 0, 1))
            for place in range(size):
                found.add(str(number), bool(before[place]), bool(after[place]), f"{number}-{place}")
        low, high = interval(found.difference, paired_spread({"x": 1.0}, {"x": found}), -1, 1)
        apart += not low <= 0 <= high
    assert 100 * apart / TRIALS <= 7, apart


def test_points_of_students_distribution_are_scipys() -> None:
    from scipy.special import stdtrit

    for freedom in (1, 1.5, 4, 30, 1e5):
        for tail in (0.05, 0.005, 0.0003):
            assert student_point(freedom, tail) == pytest.approx(stdtrit(freedom, 1 - tail), rel=1e-6)


@pytest.mark.slow
def test_a_published_row_of_an_equal_model_is_not_told_apart(tmp_path: Path) -> None:
    """Models differ by scenario and by conversation; the row tells its accuracies alone."""
    source, apart = np.random.default_rng(11), 0
    sizes = {"memory_kv": (5, 31), "multi_turn_base": (200, 1), "live_simple": (86, 3)}
    columns = ("Memory KV", "Multi Turn Base", "Live Simple AST")
    for _ in range(TRIALS):
        tallies, told = {}, {}
        for (name, (clusters, each)), column in zip(sizes.items(), columns, strict=True):
            shared = source.normal(0, 0.3, clusters)
            mine, other = (1 / (1 + np.exp(-(0.4 + shared + source.normal(0, 0.6, clusters)))) for _ in range(2))
            tallies[name] = Tally()
            for number, rate in enumerate(mine):
                for place in range(each):
                    tallies[name].add(str(number), bool(source.random() < rate), f"{number}-{place}")
            told[column] = float(np.mean(source.random((clusters, each)) < other[:, None]))
        board = PublishedBoard(tmp_path, "", "", "", (Row(1, "equal", "", "", "", None, told),))
        found = compared(board, "m", tallies)
        assert found is not None
        apart += not found.rows[0].tie
    assert 100 * apart / TRIALS <= 7, apart
