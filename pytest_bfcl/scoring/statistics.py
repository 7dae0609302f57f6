"""Error bars: Wilson intervals, clustered standard errors, intervals of weighted means, exact paired tests.

Entries of a benchmark are not independent: the four variants of a multi-turn entry share their user, the questions of a
memory scenario share one memory, live entries share function documents. Such entries form clusters; variances are those
between clusters (cluster-robust, with the G/(G−1) correction) and quantiles are Student's with Satterthwaite degrees of
freedom, so that five memory scenarios count as five and not as 465 questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_bfcl.dataset.categories import CATEGORIES

Z95 = 1.959963984540054
"""97.5 % point of the standard normal distribution."""

_STUDENT975 = (
    12.706205,
    4.302653,
    3.182446,
    2.776445,
    2.570582,
    2.446912,
    2.364624,
    2.306004,
    2.262157,
    2.228139,
    2.200985,
    2.178813,
    2.160369,
    2.144787,
    2.13145,
    2.119905,
    2.109816,
    2.100922,
    2.093024,
    2.085963,
    2.079614,
    2.073873,
    2.068658,
    2.063899,
    2.059539,
    2.055529,
    2.051831,
    2.048407,
    2.04523,
)
"""97.5 % points of Student's distribution for 1 to 29 degrees of freedom."""

Interval = tuple[float, float]


def wilson(correct: float, total: float, z: float = Z95) -> Interval:
    """Wilson's 95 % score interval of a proportion; counts may be fractional (effective sizes).

    The whole range (0, 1) when nothing was counted. Equals scipy's ``binomtest(...).proportion_ci(method="wilson")``;
    written out because importing scipy would take longer than summarising a complete run.
    """
    if total <= 0:
        return (0.0, 1.0)
    p = correct / total
    centre = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    low = 0.0 if correct == 0 else max(0.0, centre - half)
    high = 1.0 if correct == total else min(1.0, centre + half)
    return (low, high)


def student975(freedom: float) -> float:
    """97.5 % point of Student's distribution.

    From 30 degrees of freedom on by the Cornish-Fisher expansion (error below 1e-5), below that from a table,
    fractional degrees rounded down (the wider interval).
    """
    if math.isinf(freedom):
        return Z95
    if freedom < 30:
        return _STUDENT975[max(int(freedom), 1) - 1]
    z, v = Z95, freedom
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    )


def stratum_of(category: str) -> str:
    """Categories whose clusters are shared (multi-turn, memory, web search) by one name; else the category itself."""
    row = CATEGORIES.get(category)
    return row.group if row is not None and row.group in ("multi_turn", "memory", "web_search") else category


def cluster_of(entry_id: str, category: str) -> str:
    """Which entries stand or fall together, within a stratum (ids: data spec §5).

    Multi-turn and web search: the index, shared by the variants. Memory: the scenario. Live: the function document.
    Format sensitivity: the original entry. Everything else: the entry itself (repeats of it form a cluster).
    """
    row = CATEGORIES.get(category)
    group = row.group if row is not None else ""
    if group == "format_sensitivity":
        return entry_id.rsplit(":", 1)[-1]
    index = entry_id.rpartition("_")[2]
    parts = index.split("-")
    if group in ("multi_turn", "web_search"):
        return index
    if group in ("memory", "live") and len(parts) == 3:
        return parts[1]
    return entry_id


@dataclass(slots=True)
class Tally:
    """Passed and counted entries of one category, by cluster."""

    clusters: dict[str, list[int]] = field(default_factory=dict)
    passed: int = 0
    total: int = 0

    def add(self, cluster: str, passed: bool) -> None:
        """Count one entry."""
        count = self.clusters.setdefault(cluster, [0, 0])
        count[0] += passed
        count[1] += 1
        self.passed += passed
        self.total += 1

    @property
    def accuracy(self) -> float | None:
        """Share passed; ``None`` when nothing was counted."""
        return self.passed / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Spread:
    """A variance and its degrees of freedom."""

    variance: float
    freedom: float

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval."""
        return student975(self.freedom) * math.sqrt(self.variance) if self.variance > 0 else 0.0


@dataclass(slots=True)
class _Stratum:
    """Influences of the clusters of one stratum on the estimate, and the variance if entries were independent."""

    influences: dict[str, float] = field(default_factory=dict)
    independent: float = 0.0
    entries: int = 0

    def spread(self) -> Spread:
        count = len(self.influences)
        # Summed exactly: the result must not depend on the order in which entries finished.
        squares = math.fsum(x * x for x in self.influences.values())
        between = count / (count - 1) * squares if count > 1 else 0.0
        # Never below what independent entries would give: few clusters may agree by chance.
        if between >= self.independent:
            return Spread(between, count - 1)
        return Spread(self.independent, max(self.entries - 1, 1))


def spread_of(
    weights: Mapping[str, float], tallies: Mapping[str, Tally], population: Mapping[str, int] | None = None
) -> Spread:
    """Variance of Σ weight·accuracy (delta method; clusters across the categories of a stratum count as one).

    With ``population`` (category → entries of the full set) the finite-population correction is applied: the variance
    of a sample as an estimate of the full set's score.
    """
    strata: dict[str, _Stratum] = {}
    for category, weight in weights.items():
        tally = tallies[category]
        if not tally.total:
            continue
        stratum = strata.setdefault(stratum_of(category), _Stratum())
        scale = weight * _unsampled(tally.total, population, category)
        p = tally.passed / tally.total
        for cluster, (passed, count) in tally.clusters.items():
            influence = scale / tally.total * (passed - p * count)
            stratum.influences[cluster] = stratum.influences.get(cluster, 0.0) + influence
        smoothed = (tally.passed + 1) / (tally.total + 2)  # 0 % and 100 % are not certainties
        stratum.independent += scale**2 * smoothed * (1 - smoothed) / tally.total
        stratum.entries += tally.total
    return _sum([stratum.spread() for stratum in strata.values()])


def _unsampled(total: int, population: Mapping[str, int] | None, category: str) -> float:
    if population is None:
        return 1.0
    size = population.get(category, total)
    return math.sqrt(max(0.0, 1 - total / size)) if size else 0.0


def _sum(parts: Iterable[Spread]) -> Spread:
    """Independent variances added; degrees of freedom by Satterthwaite."""
    found = [part for part in parts if part.variance > 0]
    variance = sum(part.variance for part in found)
    if variance <= 0:
        return Spread(0.0, math.inf)
    return Spread(variance, variance**2 / sum(part.variance**2 / part.freedom for part in found))


def interval(value: float, spread: Spread, low: float = 0.0, high: float = 1.0) -> Interval:
    """The 95 % interval around a value, cut to the possible range."""
    return (max(low, value - spread.half_width), min(high, value + spread.half_width))


def category_interval(category: str, tally: Tally) -> Interval | None:
    """Wilson's interval of one category; where entries cluster, with the effective number of entries.

    ``None`` when nothing was counted.
    """
    if not tally.total:
        return None
    if len(tally.clusters) == tally.total:
        return wilson(tally.passed, tally.total)
    spread = spread_of({category: 1.0}, {category: tally})
    smoothed = (tally.passed + 1) / (tally.total + 2)
    effective = smoothed * (1 - smoothed) / spread.variance
    return wilson(tally.passed / tally.total * effective, effective, student975(spread.freedom))


# Paired comparison.


@dataclass(slots=True)
class PairTally:
    """Entries judged in both runs: by cluster, how the second run differs from the first."""

    clusters: dict[str, list[int]] = field(default_factory=dict)
    improved: int = 0
    regressed: int = 0
    total: int = 0

    def add(self, cluster: str, before: bool, after: bool) -> None:
        """Count one pair."""
        count = self.clusters.setdefault(cluster, [0, 0])
        count[0] += after - before
        count[1] += 1
        self.improved += after and not before
        self.regressed += before and not after
        self.total += 1

    @property
    def difference(self) -> float:
        """Accuracy after minus accuracy before; 0 when nothing was paired."""
        return (self.improved - self.regressed) / self.total if self.total else 0.0


def paired_spread(weights: Mapping[str, float], tallies: Mapping[str, PairTally]) -> Spread:
    """Variance of Σ weight·difference over paired entries, clustered as in `spread_of`.

    The floor for independent pairs uses Bonett and Price's adjustment (one improved and one regressed entry added),
    so that two runs without any disagreement still have an interval.
    """
    strata: dict[str, _Stratum] = {}
    for category, weight in weights.items():
        tally = tallies[category]
        if not tally.total:
            continue
        stratum = strata.setdefault(stratum_of(category), _Stratum())
        for cluster, (difference, count) in tally.clusters.items():
            influence = weight / tally.total * (difference - tally.difference * count)
            stratum.influences[cluster] = stratum.influences.get(cluster, 0.0) + influence
        up, down = (tally.improved + 1) / (tally.total + 2), (tally.regressed + 1) / (tally.total + 2)
        stratum.independent += weight**2 * (up + down - (up - down) ** 2) / (tally.total + 2)
        stratum.entries += tally.total
    return _sum([stratum.spread() for stratum in strata.values()])


def chance(difference: float, spread: Spread) -> float:
    """Two-sided p-value of a difference with this spread: how often chance alone gives one as large.

    The test that belongs to `interval`: below 0.05 exactly where the interval excludes zero (up to rounding of the
    degrees of freedom).
    """
    if spread.variance <= 0:
        return 1.0 if difference == 0 else 0.0
    from scipy.special import ndtr, stdtr

    distance = abs(difference) / math.sqrt(spread.variance)
    tail = ndtr(-distance) if math.isinf(spread.freedom) else stdtr(spread.freedom, -distance)
    return min(1.0, 2 * float(tail))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjustment for looking at several differences at once: the p-values to hold against 0.05.

    With it, two equally good models are told apart in at most 5 % of comparisons, however many groups are looked at.
    """
    adjusted: dict[str, float] = {}
    highest = 0.0
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    for position, (name, value) in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - position) * value))
        adjusted[name] = highest
    return adjusted


def mcnemar(improved: int, regressed: int) -> float:
    """Two-sided p-value of McNemar's exact test: could the disagreements be a fair coin? 1.0 without any."""
    if improved + regressed == 0:
        return 1.0
    from scipy.special import bdtr  # scipy.stats would take two seconds to import

    return min(1.0, 2 * float(bdtr(min(improved, regressed), improved + regressed, 0.5)))
