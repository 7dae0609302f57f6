"""Runs of a model whose true scores are known, for the coverage of every printed interval."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pytest_bfcl.scoring.statistics import Tally

Source = np.random.Generator


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

    def rates(self, source: Source) -> np.ndarray:
        """Pass rates, clusters × questions."""
        shape = (self.clusters, 1)
        found = beta(source, np.full(shape, self.mean), self.concentration)
        return beta(source, np.repeat(found, self.each, axis=1), self.own)

    def draw(self, source: Source, rates: np.ndarray | None = None) -> np.ndarray:
        """Verdicts passed of each question's repeats, clusters × questions."""
        return source.binomial(self.repeats, self.rates(source) if rates is None else rates)


def beta(source: Source, means: np.ndarray, concentration: float | None) -> np.ndarray:
    if concentration is None:
        return means
    if concentration == 0:
        return (source.random(means.shape) < means).astype(float)
    inner = np.clip(means, 1e-9, 1 - 1e-9)
    return source.beta(inner * concentration, (1 - inner) * concentration)


def tally(passed: np.ndarray, repeats: int, chosen: np.ndarray | None = None) -> Tally:
    """The counts of a category as a run makes them, of the questions ``chosen``."""
    found = Tally()
    clusters, each = passed.shape
    for cluster in range(clusters):
        for number in range(each):
            if chosen is not None and not chosen[cluster, number]:
                continue
            question = str(cluster) if each == 1 else f"{cluster}-{number}"
            for position in range(repeats):
                found.add(str(cluster), position < passed[cluster, number], question)
    return found


@dataclass
class Share:
    """How often an interval held the truth."""

    runs: int = 0
    inside: int = 0
    missed: list[float] = field(default_factory=list)

    def add(self, interval: tuple[float, float] | list[float] | None, truth: float) -> None:
        """Count one interval."""
        assert interval is not None
        self.runs += 1
        self.inside += interval[0] - 1e-12 <= truth <= interval[1] + 1e-12

    @property
    def percent(self) -> float:
        """Percent of intervals that held the truth."""
        return 100 * self.inside / self.runs
