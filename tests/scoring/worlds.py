"""Made-up benchmarks whose true scores are known: what a run of them shows, and how often an interval holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.scoring.statistics import Tally
from tests.scoring.samples import SCENARIOS

Source = np.random.Generator
Verdicts = Iterable[np.ndarray]
"""By cluster: how often each of its questions passed."""
Draw = Callable[[Source], Verdicts]
FIVE = 5
"""Scenarios of the worlds that are hard: few clusters, uneven ones."""


@dataclass(frozen=True)
class World:
    """One category: ``clusters`` of ``each`` questions, every question asked ``repeats`` times.

    A cluster has a pass rate of its own around ``mean``, the more alike its questions the smaller ``concentration``
    (beta; ``None``: no clusters); a question has one around its cluster's by ``own`` (``None``: the cluster's itself;
    0: it passes always or never).
    """

    mean: float
    clusters: int
    each: int = 1
    concentration: float | None = None
    own: float | None = None
    repeats: int = 1

    def draw(self, source: Source) -> np.ndarray:
        """Verdicts passed of each question's repeats, clusters × questions."""
        found = beta(source, np.full((self.clusters, 1), self.mean), self.concentration)
        return source.binomial(self.repeats, beta(source, np.repeat(found, self.each, axis=1), self.own))


def beta(source: Source, means: np.ndarray, concentration: float | None) -> np.ndarray:
    """Rates around means, the farther the smaller the concentration."""
    if concentration is None:
        return means
    if concentration == 0:
        return (source.random(means.shape) < means).astype(float)
    inner = np.clip(means, 1e-9, 1 - 1e-9)
    return source.beta(inner * concentration, (1 - inner) * concentration)


def heavy_tails(source: Source) -> Verdicts:
    """Some scenarios are far from the others."""
    rates = 1 / (1 + np.exp(-(0.5 + 0.5 * source.standard_t(3, FIVE))))
    return [source.random(31) < rate for rate in rates]


def chains(source: Source) -> Verdicts:
    """A failure makes the next one likelier."""
    found = []
    for rate in source.beta(6, 4, FIVE):
        right, scenario = True, []
        for _ in range(31):
            right = bool(source.random() < (rate if right else 0.4 * rate))
            scenario.append(right)
        found.append(np.array(scenario))
    return found


def informative_sizes(source: Source) -> Verdicts:
    """Larger scenarios are easier."""
    found = []
    for size in source.integers(12, 60, FIVE):
        rate = np.clip(source.beta(6, 4) + 0.006 * (size - 36), 0.02, 0.98)
        found.append(source.random(size) < rate)
    return found


def missing_not_at_random(source: Source) -> Verdicts:
    """Wrong answers end in an error more often, in some scenarios much more often."""
    found = []
    for rate in source.beta(6, 4, FIVE):
        right = source.random(31) < rate
        found.append(right[source.random(31) >= np.where(right, 0.05, source.choice([0.05, 0.5]))])
    return found


def conversations(lost_where_wrong: float) -> Draw:
    """Two hundred conversations in four variants; wrong answers may end in an error more often."""

    def draw(source: Source) -> Verdicts:
        for rate in source.beta(3, 3, 200):
            right = source.random(4) < rate
            yield right[source.random(4) > np.where(right, 0.02, lost_where_wrong)]

    return draw


def documents(source: Source) -> Verdicts:
    """Live entries by function document: larger documents are easier."""
    sizes = source.geometric(0.33, 86)
    return [source.random(size) < min(0.55 + 0.03 * size, 0.95) * source.beta(8, 2) for size in sizes]


def truth(draw: Draw, rounds: int = 6000) -> float:
    """What the share tends to."""
    source = np.random.default_rng(99)
    return float(np.concatenate([verdicts for _ in range(rounds) for verdicts in draw(source)]).mean())


def tally(passed: Verdicts, repeats: int = 1, chosen: np.ndarray | None = None) -> Tally:
    """The counts of a category as a run makes them, of the questions ``chosen``."""
    found = Tally()
    for cluster, questions in enumerate(passed):
        for number, right in enumerate(questions):
            if chosen is None or chosen[cluster, number]:
                for position in range(repeats):
                    found.add(str(cluster), position < right, f"{cluster}-{number}")
    return found


@dataclass
class Share:
    """How often an interval held the truth."""

    runs: int = 0
    inside: int = 0

    def add(self, interval: tuple[float, float] | list[float] | None, truth: float) -> None:
        """Count one interval."""
        assert interval is not None
        self.runs += 1
        self.inside += interval[0] - 1e-12 <= truth <= interval[1] + 1e-12

    @property
    def percent(self) -> float:
        """Percent of intervals that held the truth."""
        return 100 * self.inside / self.runs

    def assert_held(self, low: float = 93.0, high: float = 97.5) -> None:
        """Within two bounds in percent, give or take the simulation's standard error."""
        error = 100 * (0.05 * 0.95 / self.runs) ** 0.5
        assert low - error <= self.percent <= high + error, self.percent


MEANS = {"multi_turn": 0.5, "web_search": 0.45, "memory": 0.4}
SHARED = {"multi_turn": (60, 2.0), "web_search": (50, 3.0), "memory": (5, 12.0)}
"""Group → clusters shared by its categories, and how alike their entries are."""
REPEATS = 2
FULL = {"multi_turn": 60, "web_search": 50, "memory": 60, "live": 90}


def whole_run(source: Source) -> Iterator[tuple[str, str, int, float, bool]]:
    """Category, id, repeat, the entry's pass rate, verdict: of the whole data set."""
    shared = {group: beta(source, np.full(count, MEANS[group]), alike) for group, (count, alike) in SHARED.items()}
    for category in GROUPS["all_scoring"]:
        group = CATEGORIES[category].group
        if category == "format_sensitivity":
            continue
        mean = MEANS.get(group, 0.7)
        grouped = beta(source, np.full(30, mean), 6)
        for number in range(FULL.get(group, 60)):
            if group == "memory":
                entry_id, rate = f"{category}_{number}-{SCENARIOS[number % 5]}-{number}", shared[group][number % 5]
            elif group == "live":
                entry_id, rate = f"{category}_{number}-{number // 3}-{number % 3}", grouped[number // 3]
            else:
                entry_id = f"{category}_{number}"
                rate = shared[group][number] if group in shared else mean
            rate = float(beta(source, np.array([rate]), 4)[0])
            for repeat in range(1, REPEATS + 1):
                yield category, entry_id, repeat, rate, bool(source.random() < rate)
