"""Rows of a comparison: one score of two models, over paired entries, or over two samples without common entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pytest_bfcl.dataset.categories import CATEGORIES, groups_of
from pytest_bfcl.dataset.expansion import sort_key
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import ROW_OF_A_GROUP, Term
from pytest_bfcl.scoring.measurements import Judged, Key
from pytest_bfcl.scoring.statistics import (
    PairTally,
    Spread,
    Tally,
    chance,
    cluster_of,
    interval,
    spread_of,
    sum_of,
)
from pytest_bfcl.scoring.tally import VERDICTS


@dataclass(frozen=True, slots=True)
class Row:
    """One category, group or the overall value compared; differences and accuracies are fractions, after minus before.

    ``interval95`` is the clustered interval of the difference, ``chance`` its p-value. ``categories``: those included.
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

    @classmethod
    def of(cls, name: str, entries: int, before: float, difference: float, spread: Spread,
           categories: Iterable[str], *, improved: int = 0, regressed: int = 0) -> Row:  # fmt: skip
        """With the interval and the p-value of a difference of this spread."""
        return cls(
            name,
            entries,
            before,
            before + difference,
            difference,
            interval(difference, spread, -1.0, 1.0),
            improved,
            regressed,
            chance(difference, spread),
            tuple(categories),
        )


def row_name(group: str) -> str:
    """The name of a group's row: a group may have the name of one of its categories."""
    return group + ROW_OF_A_GROUP if group in CATEGORIES else group


def paired_row(name: str, term: Term, tallies: Mapping[str, PairTally], sizes: Mapping[str, int]) -> Row | None:
    """The row of a group or category over paired entries; ``None`` without pairs. ``sizes``: entries of the full set,
    the weights.
    """
    parts = [part for part in aggregate.categories_in(term) if part in tallies]
    weights = aggregate.category_weights(term, {part: sizes.get(part) or tallies[part].total for part in parts})
    if not weights:
        return None
    difference = sum(weight * tallies[part].mean for part, weight in weights.items())
    before = sum(weight * tallies[part].before / tallies[part].total for part, weight in weights.items())
    return Row.of(
        name,
        sum(tallies[part].total for part in weights),
        before,
        difference,
        spread_of(weights, tallies),
        weights,
        improved=sum(tallies[part].improved for part in weights),
        regressed=sum(tallies[part].regressed for part in weights),
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
        if name not in shared and len(weights) < 2:
            continue
        was, now = (sum(weight * side[part].mean for part, weight in weights.items()) for side in (first, second))
        spread = sum_of([spread_of(weights, side) for side in (first, second)])
        entries = sum(side[part].total for part in weights for side in (first, second))
        yield Row.of(name, entries, was, now - was, spread, weights)


def _tallies(side: Mapping[Key, Judged]) -> dict[str, Tally]:
    found: dict[str, Tally] = {}
    for judged in side.values():
        if judged.outcome in VERDICTS:
            passed = judged.outcome == "passed"
            found.setdefault(judged.category, Tally()).add(cluster_of(judged.id, judged.category), passed, judged.id)
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """An entry with more or fewer right answers than before.

    ``answers``: pairs of answers, more than one with repeats; ``right``: how many were right before and after.
    ``before`` and ``after`` are the reasons in ``repeat``, the first pair that changed this way; ``None`` for passed.
    """

    id: str
    category: str
    before: str | None
    after: str | None
    repeat: int
    answers: int
    right: tuple[int, int]

    @property
    def improved(self) -> bool:
        """Whether more answers are right than before."""
        return self.right[1] > self.right[0]

    @property
    def tallies(self) -> tuple[str, str]:
        """``2 of 3 passed`` before and after; empty without repeats."""
        if self.answers == 1:
            return "", ""
        before, after = (f"{count} of {self.answers} passed" for count in self.right)
        return before, after

    @property
    def text(self) -> str:
        """``id: before → after``, each a reason, ``passed``, or with repeats how many passed."""
        if self.answers == 1:
            return f"{self.id}: {self.before or 'passed'} → {self.after or 'passed'}"
        before, after = self.tallies
        return f"{self.id}: {before} → {after} ({self.before or self.after or 'passed'})"

    def to_dict(self) -> Parsed:
        """A JSON-able copy."""
        groups = groups_of(self.category)
        found: Parsed = {
            "id": self.id,
            "category": self.category,
            "group": groups[0] if groups else None,
            "before": self.before,
            "after": self.after,
        }
        if self.answers > 1:
            found |= {"answers": self.answers, "right": list(self.right), "repeat": self.repeat}
        return found


@dataclass(slots=True)
class _Pairs:
    """The pairs of one entry: answers, right ones, and the first pair of each direction."""

    category: str
    answers: int = 0
    before: int = 0
    after: int = 0
    first: dict[bool, tuple[int, str | None, str | None]] = field(default_factory=dict)


class Changes:
    """Collects pairs of verdicts, entry by entry."""

    def __init__(self) -> None:
        self._entries: dict[str, _Pairs] = {}

    def add(self, key: Key, old: Judged, new: Judged) -> None:
        """One pair."""
        entry_id, repeat = key
        pairs = self._entries.setdefault(entry_id, _Pairs(new.category))
        before, after = old.outcome == "passed", new.outcome == "passed"
        pairs.answers += 1
        pairs.before += before
        pairs.after += after
        earlier = pairs.first.get(after)
        if before != after and (earlier is None or repeat < earlier[0]):
            pairs.first[after] = (repeat, None if before else old.reason, None if after else new.reason)

    def changed_entries(self) -> Iterable[Change]:
        """The changed entries in the data's order, not the order in which workers finished."""
        for entry_id in sorted(self._entries, key=sort_key):
            pairs = self._entries[entry_id]
            if pairs.before != pairs.after:
                repeat, before, after = pairs.first[pairs.after > pairs.before]
                right = (pairs.before, pairs.after)
                yield Change(entry_id, pairs.category, before, after, repeat, pairs.answers, right)

    @property
    def unchanged(self) -> int:
        """Entries with the same number of right answers as before."""
        return sum(pairs.before == pairs.after for pairs in self._entries.values())
