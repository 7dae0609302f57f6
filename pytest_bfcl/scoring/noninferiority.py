"""Non-inferiority: met only if a loss larger than the margin is ruled out, which a small sample cannot do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.failures import instead_of
from pytest_bfcl.scoring.aggregate import FORMULAS
from pytest_bfcl.scoring.gate_scope import OVERALL, Extent, members_of, smallest_loss
from pytest_bfcl.scoring.gates import GateCheck

if TYPE_CHECKING:
    from pytest_bfcl.scoring.comparison import Comparison
    from pytest_bfcl.scoring.comparison_rows import Row

NAME = "noninferior"


@dataclass(frozen=True, slots=True)
class Margin:
    """The margin: a loss in percentage ``points``, or the remaining percent of the baseline's score. ``group`` is its
    group or category; ``None``: all entries.
    """

    points: float = 0.0
    kept: float | None = None
    group: str | None = None

    def __str__(self) -> str:
        number = f"{self.kept:g}%" if self.kept is not None else f"{self.points:g}"
        return f"{self.group}={number}" if self.group else number

    def of(self, before: float) -> float:
        """The margin as a fraction, given the baseline's accuracy ``before``."""
        return before * (1 - self.kept / 100) if self.kept is not None else self.points / 100


def parse_margin(text: str) -> Margin:
    """``1.5`` (points) or ``97%`` (of the baseline's score), of one group as ``GROUP=1.5``; `ValueError` otherwise."""
    group, equals, rest = text.rpartition("=")
    group, number = group.strip(), rest.strip()
    known = [*OVERALL, *FORMULAS, *GROUPS, *CATEGORIES]
    if equals and group not in known:
        raise ValueError(f"unknown group {group!r}; {instead_of(group, known)}")
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        value = math.nan
    if number.endswith("%") and 0 < value < 1:
        raise ValueError(f"{number} would be less than one percent of the baseline's score; write {100 * value:g}%")
    if number.endswith("%") and 0 < value < 100:
        return Margin(kept=value, group=group or None)
    if not number.endswith("%") and 0 < value <= 100:
        return Margin(points=value, group=group or None)
    raise ValueError("write points above 0, such as 1.5, or a share of the baseline's score below 100, such as 97%")


def noninferior(comparison: Comparison, margin: Margin, extent: Extent | None = None) -> GateCheck:
    """The check over a group, or over all: the overall score, else all paired entries.

    Met when the lower end of the 95 % interval of the difference (paired, clustered) is above minus the margin. A model
    that is worse by exactly the margin then passes in at most 2.5 % of runs, by simulation in less than 5 %. All of
    several margins must be met, so that more margins never make a pass by chance more likely.
    """
    row = _looked_at(comparison, margin)
    if row is None:
        name, what = (
            (f"{NAME}:{margin.group}", f"{margin.group}: no entry of it") if margin.group else (NAME, "no entry")
        )
        return GateCheck(name, comparison.after, False, f"{what} was judged in both this run and the baseline")
    limit = margin.of(row.before)
    low = row.interval95[0]
    ok = low > -limit
    kept = f" ({margin.kept:g}% of the baseline's {100 * row.before:.2f} %)" if margin.kept is not None else ""
    why = (
        f"{row.name}: {100 * row.difference:+.2f} points against the baseline, at worst {100 * low:+.2f} "
        f"({row.entries} paired entries): a loss of more than {100 * limit:.2f} points{kept} is "
        + ("ruled out" if ok else "not ruled out")
    )
    if not ok and row.difference > -limit:
        why += f"; about {_needed(row, limit):,} entries would tell"
    if extent is not None:
        why += extent.scope(members_of(row.name), row.entries).text(smallest_loss(row.difference, row.interval95))
    return GateCheck(f"{NAME}:{row.name}", comparison.after, ok, why, 100 * row.difference, -100 * limit)


def too_few(unchanged: Comparison, margin: Margin) -> str | None:
    """Why a margin cannot be met over these equal pairs; else ``None``. Names the margin that they can show, and the
    number of entries that is enough. Without a difference the interval shrinks with the number of pairs, not with its
    root.
    """
    row = _looked_at(unchanged, margin)
    if row is None:
        return f"the baseline has a verdict on no selected entry of {margin.group or 'the data'}"
    limit, seen = margin.of(row.before), -row.interval95[0]
    if seen < limit:
        return None
    least = math.floor(1000 * seen + 1) / 10  # points, rounded up
    share = "" if margin.kept is None else f" ({margin.kept:g}% of {100 * row.before:.1f})"
    would = (
        f"{least:g}"
        if margin.kept is None
        else f"{max(math.floor(100 * (1 - seen / row.before)), 0) if row.before else 0}%"
    )
    prefix = f"{margin.group}=" if margin.group else ""
    more = f", or at least {math.ceil(row.entries * seen / limit) + 1:,} entries" if limit > 0 else ""
    return (
        f"{row.entries:,} entries rule out a loss of {least:g} points at best, not of {100 * limit:.1f}{share}, even "
        f"when nothing changes; --bfcl-noninferior {prefix}{would} would do{more}"
    )


def _looked_at(comparison: Comparison, margin: Margin) -> Row | None:
    """The row of the margin's group; without one the overall score, else all entries, else the largest row."""
    rows = comparison.rows
    if margin.group is not None:
        return rows.get(margin.group)
    whole = next((rows[name] for name in ("overall", "all") if name in rows), None)
    return whole or max(rows.values(), key=lambda row: row.entries, default=None)


def _needed(row: Row, limit: float) -> int:
    """Entries with which this difference would rule the margin out: intervals shrink with the root of their number."""
    half = row.difference - row.interval95[0]
    return math.ceil(row.entries * (half / (row.difference + limit)) ** 2)
