"""Rows of a comparison: one score of two models, over paired entries, or over two samples without common entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter

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
        if judged.is_verdict:
            cluster = cluster_of(judged.id, judged.category)
            found.setdefault(judged.category, Tally()).add(cluster, judged.passed, judged.id)
    return found


def pairs_of(before: Mapping[Key, Judged], after: Mapping[Key, Judged]) -> list[tuple[Judged, Judged, int]]:
    """The verdicts of two models on what was judged in both, each pair with the number of the repeat."""
    found = ((before.get(key), new, key[1]) for key, new in after.items() if new.is_verdict)
    return [(old, new, repeat) for old, new, repeat in found if old is not None and old.is_verdict]


def pair_tallies(pairs: Iterable[tuple[Judged, Judged, int]]) -> dict[str, PairTally]:
    """The pairs counted by category."""
    tallies: dict[str, PairTally] = {}
    for old, new, _ in pairs:
        cluster = cluster_of(new.id, new.category)
        tallies.setdefault(new.category, PairTally()).add(cluster, old.passed, new.passed, new.id)
    return tallies


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


def changes_of(pairs: Iterable[tuple[Judged, Judged, int]]) -> tuple[list[Change], int]:
    """The changed entries in the data's order, not the order in which workers finished; and the number of others, with
    as many right answers as before.
    """
    entries: dict[str, list[tuple[Judged, Judged, int]]] = {}
    for pair in pairs:
        entries.setdefault(pair[1].id, []).append(pair)
    changes = []
    for entry_id in sorted(entries, key=sort_key):
        answers = entries[entry_id]
        right = (sum(old.passed for old, _, _ in answers), sum(new.passed for _, new, _ in answers))
        if right[0] != right[1]:
            wanted = (right[0] > right[1], right[1] > right[0])
            alike = (each for each in answers if (each[0].passed, each[1].passed) == wanted)
            old, new, repeat = min(alike, key=itemgetter(2))
            before, after = (None if each.passed else each.reason for each in (old, new))
            changes.append(Change(entry_id, new.category, before, after, repeat, len(answers), right))
    return changes, len(entries) - len(changes)
