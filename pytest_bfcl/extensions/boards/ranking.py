"""How certain a ranking is: intervals of ranks, ties, deciding entries between neighbours.

Every pair of models is compared entry by entry with the clusters and degrees of freedom of `spread_of`. A model's
rank is certain except for models that are not separated from it. Its interval goes from one more than the clearly
better ones to the number of not clearly worse ones (M. Mogstad, J. P. Romano, A. Shaikh, D. Wilhelm, Inference for
Ranks, Review of Economic Studies 91, 2024), with Holm's correction for the comparisons of one model, so that it
contains the true rank in 95 % of cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from pytest_bfcl.scoring.measurements import Judged, Key
from pytest_bfcl.scoring.statistics import Interval, PairTally, chance, cluster_of, holm, interval, spread_of
from pytest_bfcl.scoring.tally import VERDICTS

Verdicts = Mapping[Key, Judged]
Weigh = Callable[[Mapping[str, int]], Mapping[str, float]]
"""Category → entries to category → weight in the score."""

SIGNIFICANT = 0.05
MOST = 40
"""Most models for which all pairs are compared; with more, only neighbours are."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models over their common judged entries; the difference is the first's score minus the second's.

    ``only_first`` and ``only_second``: entries that only one passes, largest weight first.
    """

    first: str
    second: str
    difference: float
    interval95: Interval
    chance: float
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    @property
    def tie(self) -> bool:
        """Whether the difference is within the noise."""
        return self.interval95[0] <= 0 <= self.interval95[1]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Models in the order of their scores, the rank interval of each, and neighbours compared.

    ``ranks`` is empty for more than `MOST` models.
    """

    order: tuple[str, ...]
    ranks: Mapping[str, tuple[int, int]]
    neighbours: tuple[Pair, ...]


def ranking(models: Mapping[str, Verdicts], order: Sequence[str], weigh: Weigh) -> Ranking:
    """The ranking of ``order`` (best first) with its certainty; ``weigh`` gives the score's weights."""
    wanted = list(combinations(order, 2)) if len(order) <= MOST else list(pairwise(order))
    pairs = {(a, b): compared(a, models[a], b, models[b], weigh) for a, b in wanted}
    ranks = {name: _rank_interval(name, order, pairs) for name in order} if len(order) <= MOST else {}
    return Ranking(tuple(order), ranks, tuple(pairs[pair] for pair in pairwise(order)))


def compared(first: str, one: Verdicts, second: str, other: Verdicts, weigh: Weigh) -> Pair:
    """Two models, entry by entry."""
    tallies: dict[str, PairTally] = {}
    alone: dict[bool, list[Judged]] = {True: [], False: []}
    for key, judged in one.items():
        against = other.get(key)
        if against is None or judged.outcome not in VERDICTS or against.outcome not in VERDICTS:
            continue
        passed, theirs = judged.outcome == "passed", against.outcome == "passed"
        cluster = cluster_of(judged.id, judged.category)
        tallies.setdefault(judged.category, PairTally()).add(cluster, theirs, passed, judged.id)
        if passed is not theirs:
            alone[passed].append(judged)
    weights = weigh({name: tally.total for name, tally in tallies.items()})
    difference = sum(weight * tallies[name].mean for name, weight in weights.items())
    spread = spread_of(weights, tallies)

    def ids_by_weight(found: list[Judged]) -> tuple[str, ...]:
        worth = {name: weight / tallies[name].total for name, weight in weights.items()}
        counted = [judged for judged in found if judged.category in worth]
        return tuple(dict.fromkeys(j.id for j in sorted(counted, key=lambda j: (-worth[j.category], j.id))))

    return Pair(
        first, second, difference, interval(difference, spread, -1.0, 1.0), chance(difference, spread),
        ids_by_weight(alone[True]), ids_by_weight(alone[False]),
    )  # fmt: skip


def _rank_interval(name: str, order: Sequence[str], pairs: Mapping[tuple[str, str], Pair]) -> tuple[int, int]:
    against: dict[str, tuple[float, float]] = {}
    for (first, second), pair in pairs.items():
        if name in (first, second):
            other, ahead = (second, pair.difference) if name == first else (first, -pair.difference)
            against[other] = (ahead, pair.chance)
    adjusted = holm({other: found for other, (_, found) in against.items()})
    clear = {other: against[other][0] for other, value in adjusted.items() if value < SIGNIFICANT}
    better = sum(ahead < 0 for ahead in clear.values())
    worse = sum(ahead > 0 for ahead in clear.values())
    return 1 + better, len(order) - worse
