"""Error bars: Wilson intervals, clustered standard errors, intervals of weighted means, paired tests.

Entries of a benchmark are not independent. The four variants of a multi-turn entry share their user, the questions of a
memory scenario share one memory, live entries share function documents. Such entries form clusters; variances are those
between clusters (cluster-robust, CR3 where sizes are uneven) and quantiles are Student's with Satterthwaite degrees of
freedom. So five memory scenarios count as five, not as 465 entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.scoring.distributions import normal_tail, student_tail

Z95 = 1.959963984540054
"""97.5 % point of the standard normal distribution."""

CLEAR = 1.25
"""Ratio of the clustered variance to that of independent entries from which few clusters' variance is used."""
SCARCE = 4
"""With fewer right (or wrong) entries a cluster, clusters show little about the correlation of their entries."""

UNEVEN = 0.05
"""Clusters count as uneven if their effective number is smaller by this share."""
LEAST = 0.1
"""Least weight of the other clusters: leaving out a cluster that is almost everything shows nothing."""

Interval = tuple[float, float]


def wilson(correct: float, total: float, z: float = Z95) -> Interval:
    """Wilson's 95 % score interval of a proportion; counts may be fractional (effective sizes).

    (0, 1) if nothing was counted. Equals scipy's ``binomtest(...).proportion_ci(method="wilson")``.
    """
    if total <= 0:
        return (0.0, 1.0)
    p = correct / total
    centre = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    low = 0.0 if correct == 0 else max(0.0, centre - half)
    high = 1.0 if correct == total else min(1.0, centre + half)
    return (low, high)


@lru_cache(4096)
def student_point(freedom: float, tail: float) -> float:
    """The point that Student's distribution exceeds with probability ``tail`` (below 0.5).

    Fewer degrees of freedom than one count as one.
    """
    if math.isinf(freedom):
        return NormalDist().inv_cdf(1 - tail)
    v = max(freedom, 1.0)
    factor = math.exp(math.lgamma((v + 1) / 2) - math.lgamma(v / 2)) / math.sqrt(v * math.pi)
    found = 0.0  # below the point: Newton's steps climb to it, the tail being convex
    for _ in range(200):
        density = factor * (1 + found * found / v) ** (-(v + 1) / 2)
        step = (student_tail(found, v) - tail) / density
        found += step
        if abs(step) < 1e-10:
            break
    return found


def student975(freedom: float) -> float:
    """97.5 % point of Student's distribution."""
    return student_point(freedom, 0.025)


def stratum_of(category: str) -> str:
    """One name for categories that share clusters (multi-turn, memory, web search); else the category itself."""
    row = CATEGORIES.get(category)
    return row.group if row is not None and row.group in ("multi_turn", "memory", "web_search") else category


def cluster_of(entry_id: str, category: str) -> str:
    """The cluster of an entry within a stratum (ids: data spec §5).

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
class Share:
    """How many of a number passed."""

    passed: int = 0
    total: int = 0

    def add(self, passed: int, total: int = 1) -> None:
        """Count one, or several."""
        self.passed += passed
        self.total += total

    @property
    def accuracy(self) -> float | None:
        """Share passed; ``None`` if nothing was counted."""
        return self.passed / self.total if self.total else None


@dataclass(slots=True)
class _Counted:
    """Numbers by cluster and by entry, each with how many there are; ``sum`` of all. Repeats of an entry are one
    entry.
    """

    clusters: dict[str, list[int]] = field(default_factory=dict)
    entries: dict[str, list[int]] = field(default_factory=dict)
    total: int = 0
    sum: int = 0

    def count(self, cluster: str, value: int, entry_id: str) -> None:
        """Add ``value`` to a cluster and an entry."""
        for held, name in ((self.clusters, cluster), (self.entries, entry_id)):
            found = held.setdefault(name, [0, 0])
            found[0] += value
            found[1] += 1
        self.total += 1
        self.sum += value

    @property
    def mean(self) -> float:
        """Sum by number; 0 if nothing was counted."""
        return self.sum / self.total if self.total else 0.0

    @property
    def rare(self) -> float:
        """The smaller number of right or wrong entries, where a few of them decide what clusters show."""
        return math.inf

    def independent(self) -> float:
        """Variance of the mean for independent entries; repeats count as far as they disagree."""
        raise NotImplementedError


@dataclass(slots=True)
class Tally(_Counted):
    """Passed and counted entries of one category, by cluster and by entry."""

    add = _Counted.count

    @property
    def passed(self) -> int:
        """The passed ones."""
        return self.sum

    @property
    def accuracy(self) -> float | None:
        """Share passed; ``None`` if nothing was counted."""
        return self.mean if self.total else None

    @property
    def smoothed(self) -> float:
        """The accuracy with one more right and one more wrong entry, because 0 % and 100 % are not certain."""
        asked = len(self.entries)
        return (self.passed / (self.total / asked) + 1) / (asked + 2)

    @property
    def rare(self) -> float:
        """See `_Counted`."""
        return len(self.entries) * min(self.mean, 1 - self.mean)

    def independent(self) -> float:
        """See `_Counted`."""
        asked, p = len(self.entries), self.smoothed
        if self.total == asked:
            return p * (1 - p) / asked
        each = self.total / asked
        squares = math.fsum((value - p * count) ** 2 for value, count in self.entries.values()) / each**2
        return (squares + (1 - p) ** 2 + p**2) / ((asked + 2) * asked)


@dataclass(slots=True)
class PairTally(_Counted):
    """Entries judged in both runs: by cluster and entry, the difference of the second run from the first.

    ``before``: pairs that passed in the first run.
    """

    before: int = 0
    improved: int = 0
    regressed: int = 0

    def add(self, cluster: str, before: bool, after: bool, entry_id: str) -> None:
        """Count one pair."""
        self.count(cluster, after - before, entry_id)
        self.before += before
        self.improved += after and not before
        self.regressed += before and not after

    def independent(self) -> float:
        """See `_Counted`: Bonett and Price's adjustment. It adds one improved and one regressed entry, so that two runs
        without disagreement still have an interval.
        """
        asked = len(self.entries)
        each = self.total / asked
        mean = self.sum / each / (asked + 2)
        squares = math.fsum(value * value for value, _ in self.entries.values()) / each**2
        return ((squares + 2) / (asked + 2) - mean**2) / (asked + 2)


@dataclass(frozen=True, slots=True)
class Spread:
    """A variance and its degrees of freedom."""

    variance: float
    freedom: float

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval."""
        return student975(self.freedom) * math.sqrt(self.variance)


@dataclass(slots=True)
class _Stratum:
    """Influences of the clusters of one stratum on the estimate, and the variance for independent entries. ``shares``:
    of the estimate in each cluster. ``rare``: the smaller number of right or wrong entries, in the category with the
    fewest.
    """

    influences: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    independent: float = 0.0
    entries: int = 0
    rare: float = math.inf

    def add(self, found: _Counted, values: Mapping[str, list[int]], weight: float) -> None:
        """The influences of a category's clusters (or entries)."""
        self.entries += len(found.entries)
        self.independent += weight**2 * found.independent()
        self.rare = min(self.rare, found.rare)
        for name, (value, count) in values.items():
            influence = weight / found.total * (value - found.mean * count)
            self.influences[name] = self.influences.get(name, 0.0) + influence
            self.shares[name] = self.shares.get(name, 0.0) + abs(weight) * count / found.total

    def spread(self) -> Spread:
        # Large clusters count for more, so that there are fewer of them in effect (Kish's effective number).
        # Summed exactly: the result must not depend on the order in which entries finished.
        alike = math.fsum(x * x for x in self.shares.values())
        count = math.fsum(self.shares.values()) ** 2 / alike if alike else 1.0
        few = max(round(count - 1, 9), 1.0)
        between = self._between(count)
        if between >= CLEAR * self.independent:
            return Spread(between, few)
        # Never below what independent questions would give: few clusters may agree by chance. Whether they do, five
        # clusters cannot tell where hardly an answer differs: then five remain five (bounds by simulation).
        scarce = self.rare < SCARCE * count
        freedom = few * max(1.0, few / 4) if scarce else max(self.entries - 1, 1)
        return Spread(max(between, self.independent), freedom)

    def _between(self, count: float) -> float:
        """The variance between clusters, with ``count`` as their effective number. For equal sizes it has the exact
        factor G ⁄ (G − 1). A large cluster draws the mean towards itself, so its own residual is too small. For uneven
        sizes, which may correlate with the answers, each residual is divided by the others' weight (CR3; bounds by
        simulation).
        """
        whole = math.fsum(self.shares.values())
        left = {name: max(1 - share / whole, LEAST) if whole else 1.0 for name, share in self.shares.items()}
        squares = math.fsum((x / left[name]) ** 2 for name, x in self.influences.items())
        even = max(0.0, 1 - (1 - round(count / len(self.shares), 9)) / UNEVEN)
        return float(squares * (max(count - 1, 1.0) / count) ** even)


def spread_of(
    weights: Mapping[str, float], tallies: Mapping[str, _Counted], population: Mapping[str, int] | None = None
) -> Spread:
    """Variance of Σ weight·mean (delta method; clusters across the categories of a stratum count as one), of accuracies
    or of paired differences.

    With ``population`` (category → entries of the full set) it is the variance of a sample's estimate for the full set.
    Entries are drawn one by one, so clusters do not matter, and the finite-population correction is applied.
    """
    strata: dict[str, _Stratum] = {}
    for category, weight in weights.items():
        tally = tallies[category]
        if not tally.total:
            continue
        if population is None:
            strata.setdefault(stratum_of(category), _Stratum()).add(tally, tally.clusters, weight)
            continue
        asked = len(tally.entries)
        unsampled = math.sqrt(1 - asked / max(population.get(category, asked), asked))
        strata[category] = _Stratum()
        strata[category].add(tally, tally.entries, weight * unsampled)
        strata[category].rare = math.inf  # entries that were drawn one by one show all that there is
    return sum_of([stratum.spread() for stratum in strata.values()])


def sum_of(parts: Iterable[Spread]) -> Spread:
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
    """Wilson's interval of one category; with clusters or repeats it uses the effective number of entries. ``None`` if
    nothing was counted.
    """
    if not tally.total:
        return None
    if len(tally.clusters) == tally.total:
        return wilson(tally.passed, tally.total)
    spread = spread_of({category: 1.0}, {category: tally})
    effective = tally.smoothed * (1 - tally.smoothed) / spread.variance
    # The effective number of independent questions is as good as known; that of a few clusters is not.
    quantile = Z95 if len(tally.clusters) == len(tally.entries) else student975(spread.freedom)
    return wilson(tally.passed / tally.total * effective, effective, quantile)


def chance(difference: float, spread: Spread) -> float:
    """Two-sided p-value of a difference with this spread: how often chance alone gives one of this size.

    It agrees with `interval`: below 0.05 exactly if the interval excludes zero (up to rounding of the degrees of
    freedom).
    """
    if spread.variance <= 0:
        return 1.0 if difference == 0 else 0.0
    distance = abs(difference) / math.sqrt(spread.variance)
    tail = normal_tail(distance) if math.isinf(spread.freedom) else student_tail(distance, spread.freedom)
    return min(1.0, 2 * tail)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjustment for several differences at once: p-values to compare with 0.05.

    With it, two equally good models are separated in at most 5 % of comparisons over any number of groups.
    """
    adjusted: dict[str, float] = {}
    highest = 0.0
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    for position, (name, value) in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - position) * value))
        adjusted[name] = highest
    return adjusted


def noise_floor(passed: Sequence[Sequence[int]], sizes: Sequence[int]) -> float:
    """The difference of two of these runs' accuracies that chance alone exceeds in 5 % of pairs.

    ``passed``: of each cluster, how many of its ``sizes`` entries passed in each run. A cluster changes as a whole, and
    runs differ by chance only. The variance is that of its sums between runs, with one more flip, so that runs without
    disagreement also have a floor. The compared pair is among the runs that estimate the variance. So its difference
    over its standard error does not have Student's distribution but the one bounded by √ν (Thompson's τ; W. R.
    Thompson, Annals of Mathematical Statistics 6, 1935), ν being clusters, weighted by size, × (runs − 1).
    """
    entries, runs = sum(sizes), len(passed[0])
    squares = 0.0
    for sums in passed:
        mean = sum(sums) / runs
        squares += 2 * sum((value - mean) ** 2 for value in sums) / (runs - 1)
    freedom = entries**2 / sum(size**2 for size in sizes) * (runs - 1)
    if freedom <= 1:  # one cluster, two runs: nothing can be told
        return 1.0
    quantile = student975(max(freedom - 1, 1))
    bounded = quantile * math.sqrt(freedom / (freedom - 1 + quantile**2))
    return min(1.0, bounded * math.sqrt(squares + 1) / entries)
