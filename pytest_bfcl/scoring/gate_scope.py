"""The scope of a gate: its number of entries, their share of the full set, and the smallest loss it could detect."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import FORMULAS, ROW_OF_A_GROUP, Term
from pytest_bfcl.scoring.statistics import Z95, student975

if TYPE_CHECKING:
    from pytest_bfcl.runs.summary_types import Interval, ModelSummary


OVERALL = ("overall", "overall_v3")
SCORES: dict[str, Term] = {"overall": aggregate.OVERALL, "overall_v3": aggregate.OVERALL_V3}
EVERY = (*GROUPS["all_scoring"], *GROUPS["own"])
"""The categories that run by default."""


def members_of(group: str) -> list[str]:
    """The categories of a group, score or category; a comparison's row may have the name of its group."""
    if group in CATEGORIES:
        return [group]
    name = group.removesuffix(ROW_OF_A_GROUP)
    if name not in SCORES and name not in FORMULAS and name not in GROUPS:
        return list(EVERY)
    return list(dict.fromkeys(aggregate.categories_in(SCORES.get(name) or aggregate.formula(name))))


@dataclass(frozen=True, slots=True)
class Scope:
    """``measured`` answers of the ``full`` set's; ``part``: some entries got no request."""

    measured: int
    full: int
    part: bool

    def text(self, loss: float | None) -> str:
        """In words; ``loss`` in percentage points, ``None`` if nothing was measured."""
        share = f"{100 * self.measured / self.full:.1f} %" if self.full else "–"
        of = "all of the full set" if self.measured == self.full and not self.part else f"{share} of the full set"
        seen = "" if loss is None else f", smallest loss it can see: {loss:.2f} points"
        if loss is not None and loss > 100:
            seen = ", too few to see any loss"
        return f" [n = {self.measured:,}, {'a part: ' if self.part else ''}{of}{seen}]"


class Extent:
    """One model's numbers next to the full set. ``full``: its entries by category; ``repeat``: answers of an entry."""

    def __init__(self, numbers: ModelSummary, full: Mapping[str, int], repeat: int = 1) -> None:
        self._categories = numbers["categories"]
        self._full = full
        self._repeat = max(repeat, 1)

    @property
    def names(self) -> list[str]:
        """The categories that run by default, and further ones of the run."""
        return list(dict.fromkeys([*EVERY, *self._categories]))

    def scope(self, categories: Iterable[str], measured: int | None = None) -> Scope:
        """The scope of these categories, as far as run or data set have them; ``measured`` replaces the judged
        number."""
        judged = planned = full = 0
        for name in categories:
            found = self._categories.get(name)
            asked = 0
            if found is not None:
                judged += found["passed"] + found["failed"]
                asked = max(math.ceil(found["total"] / self._repeat), found.get("planned") or 0)
            planned += asked
            full += max(self._full.get(name, 0), asked)
        measured = judged if measured is None else measured
        return Scope(measured, full * self._repeat, planned < full)

    def entries(self, categories: Iterable[str]) -> int:
        """Measured entries of these categories, without repeats."""
        return self.scope(categories).measured // self._repeat

    def answerable(self, categories: Sequence[str]) -> int:
        """Entries of the full set in them, without those with an error, which have their own limit."""
        errors = sum(self._categories[name]["errors"] for name in categories if name in self._categories)
        return max(self.scope(categories).full - errors, 0) // self._repeat

    def plain_share(self, categories: Iterable[str]) -> tuple[float, float] | None:
        """Right answers of all answers, unweighted, and the smallest detectable loss; fractions.

        ``None`` if nothing was judged. Intervals of categories (clustered if their entries are) are added by their
        shares.
        """
        found = [each for name in categories if (each := self._categories.get(name)) is not None]
        found = [each for each in found if each["passed"] + each["failed"]]
        total = sum(each["passed"] + each["failed"] for each in found)
        if not total:
            return None
        squares = 0.0
        for each in found:
            judged = each["passed"] + each["failed"]
            squares += (judged / total * half_width(each["passed"] / judged, each["interval95"])) ** 2
        return sum(each["passed"] for each in found) / total, math.sqrt(squares)


def half_width(value: float, interval95: Interval) -> float:
    """The distance of the interval's farther end: at 0 % nothing can be lost, and yet nothing is certain."""
    low, high = interval95 or (0.0, 1.0)
    return max(value - low, high - value)


def everything(extents: Iterable[Extent]) -> Scope:
    """The scope of several models together."""
    scopes = [extent.scope(extent.names) for extent in extents]
    measured, full = sum(scope.measured for scope in scopes), sum(scope.full for scope in scopes)
    return Scope(measured, full, any(scope.part for scope in scopes))


def one_entry(scope: Scope) -> float | None:
    """The weight of one entry in percentage points."""
    return 100 / scope.measured if scope.measured else None


def smallest_loss(difference: float, interval95: tuple[float, float], looked_at: int = 1) -> float:
    """The smallest significant loss of a paired comparison, in points; ``looked_at`` rows are tested together.

    With Holm's adjustment the clearest loss needs a p-value of 5 % divided by their number.
    """
    half = difference - interval95[0]
    return 100 * half * NormalDist().inv_cdf(1 - 0.025 / max(looked_at, 1)) / Z95


ALIKE = 0.2
"""The assumed correlation of answers within a cluster before a run."""


def entries_needed(half_width: float, population: int) -> int:
    """The sample of ``population`` whose 95 % interval is at most ``± half_width`` (a fraction). The interval is for
    the full population (finite-population correction), at an accuracy of one half, which needs most entries.
    """
    if not population:
        return 0
    endless = Z95**2 / 4 / half_width**2
    return min(population, math.ceil(endless / (1 + (endless - 1) / population)))


def expected_half_width(clusters: Sequence[int], alike: float = ALIKE) -> float:
    """Half the width of a 95 % interval (a fraction) for entries in clusters of these sizes, at an accuracy of one
    half, which gives the widest. ``alike`` is the correlation of the answers within a cluster; clusters of one are
    independent entries.
    """
    entries = sum(clusters)
    if not entries:
        return 1.0
    doubled = 1 + (sum(size * size for size in clusters) / entries - 1) * alike
    quantile = Z95 if len(clusters) == entries else student975(len(clusters) - 1)
    return min(1.0, quantile * math.sqrt(0.25 / entries * doubled))
