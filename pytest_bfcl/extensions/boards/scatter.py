"""Geometry of scatter plots, a score against a cost, as `pytest_bfcl.reporting.charts` has that of other charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_bfcl.reporting.charts import SERIES
from pytest_bfcl.reporting.rendering import percent


@dataclass(frozen=True, slots=True)
class Dot:
    """One model in a scatter plot: position, whisker ends, position of its name."""

    x: float
    y: float
    low: float | None
    high: float | None
    name: str
    title: str
    label_y: float
    anchor: str
    series: int


@dataclass(frozen=True, slots=True)
class Scatter:
    """Score by cost: dots, and ticks as (position, text)."""

    title: str
    x_label: str
    dots: tuple[Dot, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    logarithmic: bool
    width: int = 640
    height: int = 400
    left: int = 56
    right: int = 624
    top: int = 16
    bottom: int = 348


def scatter(
    title: str, x_label: str, values: Sequence[tuple[str, float | None, float | None, Sequence[float] | None]]
) -> Scatter | None:
    """A scatter plot of (name, x, score, interval); ``None`` when fewer than two models have both numbers.

    The x axis is logarithmic when the largest value is more than twenty times the smallest.
    """
    known = [(name, x, y, pair, n) for n, (name, x, y, pair) in enumerate(values) if x is not None and y is not None]
    if len(known) < 2:
        return None
    xs = [x for _, x, _, _, _ in known]
    logarithmic = min(xs) > 0 and max(xs) > 20 * min(xs)
    ticks = _log_ticks(min(xs), max(xs)) if logarithmic else _ticks(max(xs))
    low, high = (ticks[0], ticks[-1]) if ticks[0] != ticks[-1] else (ticks[0], ticks[0] + 1)

    def across(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if logarithmic else (value - low) / (high - low)
        return round(56 + 568 * share, 1)

    def up(value: float) -> float:
        return round(348 - 332 * value, 1)

    dots = []
    for name, x, y, pair, number in known:
        low_end, high_end = (up(pair[0]), up(pair[1])) if pair else (None, None)
        place = across(x)
        text = f"{name}: {percent(y)} at {x:.4g}"
        anchor = "end" if place > 380 else "start"
        dots.append(Dot(place, up(y), low_end, high_end, name, text, up(y), anchor, number % SERIES))
    return Scatter(
        title,
        x_label,
        tuple(_apart(dots)),
        tuple((across(tick), f"{tick:g}") for tick in ticks),
        tuple((up(part / 100), str(part)) for part in (0, 25, 50, 75, 100)),
        logarithmic,
    )


def _apart(dots: list[Dot]) -> list[Dot]:
    """Labels moved down until none covers another."""
    placed: list[Dot] = []
    for dot in sorted(dots, key=lambda each: each.y):
        y = dot.label_y
        for other in placed:
            if abs(other.x - dot.x) < 220 and other.anchor == dot.anchor and y < other.label_y + 14:
                y = other.label_y + 14
        placed.append(replace(dot, label_y=y))
    return placed


def _ticks(largest: float) -> list[float]:
    """Round steps from 0 to just beyond the largest value."""
    if largest <= 0:
        return [0.0, 1.0]
    step = 10.0 ** math.floor(math.log10(largest))
    step = next(step * factor for factor in (0.2, 0.5, 1, 2) if largest / (step * factor) <= 5.5)
    return [round(step * number, 10) for number in range(math.ceil(largest / step) + 1)]


def _log_ticks(smallest: float, largest: float) -> list[float]:
    first, last = math.floor(math.log10(smallest)), math.ceil(math.log10(largest))
    return [10.0**power for power in range(first, last + 1)]
