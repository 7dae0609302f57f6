"""Rows of a comparison: one score of two models, over paired entries, or over two samples that share none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import ROW_OF_A_GROUP, Term
from pytest_bfcl.scoring.measurements import Judged, Key
from pytest_bfcl.scoring.statistics import (
    PairTally,
    Tally,
    chance,
    cluster_of,
    interval,
    paired_spread,
    spread_of,
    sum_of,
)
from pytest_bfcl.scoring.tally import VERDICTS


@dataclass(frozen=True, slots=True)
class Row:
    """One category, group or the overall value compared; differences and accuracies are fractions, after minus before.

    ``interval95`` is the clustered interval of the difference and ``chance`` the p-value that belongs to it.
    ``categories``: those that went in.
    """

    name: str
    entries: int
    before: float
    after: float
    difference: float
    interval95: tuple[float, float]
    improved: int
    regressed: int
    chance: float = 1.0
    categories: tuple[str, ...] = ()

    @property
    def significant(self) -> bool:
        """Whether the interval of the difference excludes zero."""
        return self.interval95[0] > 0 or self.interval95[1] < 0


def row_name(group: str) -> str:
    """The name of a group's row: one group has the name of its own category."""
    return group + ROW_OF_A_GROUP if group in CATEGORIES else group


def paired_row(
    name: str,
    term: Term,
    tallies: Mapping[str, PairTally],
    passed: Mapping[str, list[int]],
    sizes: Mapping[str, int],
) -> Row | None:
    """The row of a group or category over paired entries; ``None`` where none was paired.

    ``passed``: category → entries passed before and after; ``sizes``: entries of the full set, the weights.
    """
    parts = [part for part in aggregate.categories_in(term) if part in tallies]
    weights = aggregate.category_weights(term, {part: sizes.get(part) or tallies[part].total for part in parts})
    if not weights:
        return None
    difference = sum(weight * tallies[part].difference for part, weight in weights.items())
    before = sum(weight * passed[part][0] / tallies[part].total for part, weight in weights.items())
    improved = sum(tallies[part].improved for part in weights)
    regressed = sum(tallies[part].regressed for part in weights)
    spread = paired_spread(weights, tallies)
    return Row(
        name=name,
        entries=sum(tallies[part].total for part in weights),
        before=before,
        after=before + difference,
        difference=difference,
        interval95=interval(difference, spread, -1.0, 1.0),
        improved=improved,
        regressed=regressed,
        chance=chance(difference, spread),
        categories=tuple(weights),
    )


def rows_apart(before: Mapping[Key, Judged], after: Mapping[Key, Judged], sizes: Mapping[str, int]) -> Iterator[Row]:
    """Groups and categories that both samples have: differences of two shares, their variances added."""
    first, second = map(_tallies, (before, after))
    shared = {name for name in CATEGORIES if name in first and name in second}
    terms = [
        *((row_name(name), aggregate.formula(name)) for name in aggregate.FORMULAS),
        *((name, name) for name in CATEGORIES),
    ]
    for name, term in terms:
        parts = [part for part in aggregate.categories_in(term) if part in shared]
        counted = {part: sizes.get(part) or first[part].total + second[part].total for part in parts}
        weights = aggregate.category_weights(term, counted)
        if not weights or (name not in shared and len(weights) < 2):
            continue
        shares = [
            sum(weight * (side[part].accuracy or 0.0) for part, weight in weights.items()) for side in (first, second)
        ]
        spread = sum_of([spread_of(weights, side) for side in (first, second)])
        difference = shares[1] - shares[0]
        yield Row(
            name=name,
            entries=sum(side[part].total for part in weights for side in (first, second)),
            before=shares[0],
            after=shares[1],
            difference=difference,
            interval95=interval(difference, spread, -1.0, 1.0),
            improved=0,
            regressed=0,
            chance=chance(difference, spread),
            categories=tuple(weights),
        )


def _tallies(side: Mapping[Key, Judged]) -> dict[str, Tally]:
    found: dict[str, Tally] = {}
    for judged in side.values():
        if judged.outcome in VERDICTS:
            passed = judged.outcome == "passed"
            found.setdefault(judged.category, Tally()).add(cluster_of(judged.id, judged.category), passed, judged.id)
    return found
