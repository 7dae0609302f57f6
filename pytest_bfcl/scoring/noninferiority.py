"""Non-inferiority: met only when a loss larger than the margin is ruled out, not when a sample is too small to tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bfcl.scoring.gates import GateCheck

if TYPE_CHECKING:
    from pytest_bfcl.scoring.comparison import Comparison, Row

NAME = "noninferior"


@dataclass(frozen=True, slots=True)
class Margin:
    """The loss that would be too large: percentage ``points``, or what remains of the baseline's score in percent."""

    points: float | None = None
    kept: float | None = None

    def __str__(self) -> str:
        return f"{self.kept:g}%" if self.kept is not None else f"{self.points:g}"

    def of(self, before: float) -> float:
        """The margin as a fraction, where the baseline's accuracy is ``before``."""
        return before * (1 - self.kept / 100) if self.kept is not None else (self.points or 0.0) / 100


def parse_margin(text: str) -> Margin:
    """``1.5`` (points) or ``97%`` (of the baseline's score); `ValueError` for anything else."""
    number = text.strip()
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        value = math.nan
    if number.endswith("%") and 0 < value < 100:
        return Margin(kept=value)
    if not number.endswith("%") and 0 < value <= 100:
        return Margin(points=value)
    raise ValueError("write points above 0, such as 1.5, or a share of the baseline's score below 100, such as 97%")


def noninferior(comparison: Comparison, margin: Margin) -> GateCheck:
    """The check over the whole: the overall score, else all entries that were paired.

    Met when the lower end of the 95 % interval of the difference (paired, clustered) is above minus the margin. A model
    that is worse by exactly the margin then passes in at most 2.5 % of runs, by simulation in less than 5 %.
    """
    row = _whole(comparison)
    name = f"{NAME}:{row.name}" if row is not None else NAME
    if row is None:
        return GateCheck(name, comparison.after, False, "no entry was judged in both this run and the baseline")
    limit = margin.of(row.before)
    low = row.interval95[0]
    ok = low > -limit
    kept = f" ({margin} of the baseline's {100 * row.before:.2f} %)" if margin.kept is not None else ""
    why = (
        f"{row.name}: {100 * row.difference:+.2f} points against the baseline, at worst {100 * low:+.2f} "
        f"({row.entries} paired entries): a loss of more than {100 * limit:.2f} points{kept} is "
        + ("ruled out" if ok else "not ruled out")
    )
    if not ok and row.difference > -limit:
        why += f"; about {_needed(row, limit):,} entries would tell"
    return GateCheck(name, comparison.after, ok, why, 100 * row.difference, -100 * limit)


def _whole(comparison: Comparison) -> Row | None:
    rows = comparison.rows
    for name in ("overall", "all"):
        if name in rows:
            return rows[name]
    return max(rows.values(), key=lambda row: row.entries, default=None)


def _needed(row: Row, limit: float) -> int:
    """Entries from which this difference would rule the margin out: intervals shrink with the root of their number."""
    half = row.difference - row.interval95[0]
    room = row.difference + limit
    return math.ceil(row.entries * (half / room) ** 2) if room > 0 else 0
