"""Geometry of the charts: bars with interval whiskers, the wagon wheel, scatter plots.

Everything is plain numbers for a template to draw as inline SVG; colours come from the page's style by series number,
so that charts follow the dark and light theme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_bfcl.json_types import Fields

SERIES = 8
"""Number of distinct series colours; further series reuse them."""
LEFT, PLOT = 176, 300
SIZE, RADIUS = 460, 190


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its place, length, whisker ends and the mark of the corrected score (``None`` when there is none)."""

    y: float
    width: float
    height: float
    low: float | None
    high: float | None
    mark: float | None
    label: str
    text: str
    title: str
    series: int


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart of one group; x of bars starts at ``left`` and 100 % lies at ``left + plot``."""

    name: str
    bars: tuple[Bar, ...]
    height: float
    left: int = LEFT
    plot: int = PLOT
    width: int = LEFT + PLOT + 54

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Where the lines of 0, 25 … 100 % lie."""
        return [(self.left + self.plot * part / 100, f"{part}") for part in (0, 25, 50, 75, 100)]


def bar_chart(name: str, members: Sequence[str], models: Mapping[str, Fields]) -> BarChart | None:
    """The bars of a group's categories for every model; ``None`` when nothing of it was run."""
    bars: list[Bar] = []
    y, several = 8.0, len(models) > 1
    height = 14.0 if several else 18.0
    for member in members:
        drawn = False
        for series, (model, summary) in enumerate(models.items()):
            score = summary["categories"].get(member)
            if score is None or score["accuracy"] is None:
                continue
            label = "" if drawn else member
            bars.append(_bar(y, height, label, series % SERIES, score, model if several else ""))
            y += height + 3
            drawn = True
        y += 7 if drawn else 0
    return BarChart(name, tuple(bars), y + 16) if bars else None


def _bar(y: float, height: float, label: str, series: int, score: Fields, model: str) -> Bar:
    low, high = score.get("interval95") or (None, None)
    corrected = score.get("corrected_accuracy")
    interval = f" (95 %: {100 * low:.1f} – {100 * high:.1f})" if low is not None and high is not None else ""
    judged = score["passed"] + score["failed"]
    title = f"{model}: " if model else ""
    title += f"{100 * score['accuracy']:.1f} %{interval}, {score['passed']} of {judged}"
    title += f"; corrected rules {100 * corrected:.1f} %" if corrected is not None else ""
    return Bar(
        y,
        PLOT * score["accuracy"],
        height,
        None if low is None else PLOT * low,
        None if high is None else PLOT * high,
        None if corrected is None else PLOT * corrected,
        label,
        f"{100 * score['accuracy']:.1f}",
        title,
        series,
    )


@dataclass(frozen=True, slots=True)
class Spoke:
    """One axis of the wheel: its outer end and where its name stands."""

    name: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Blade:
    """One model's polygon as SVG points, its corners as circles, and its name."""

    points: str
    corners: tuple[tuple[float, float, str], ...]
    name: str
    series: int


@dataclass(frozen=True, slots=True)
class Wheel:
    """The wagon wheel: one spoke per axis, one polygon per model."""

    spokes: tuple[Spoke, ...]
    rings: tuple[tuple[str, str], ...]
    blades: tuple[Blade, ...]
    size: int = SIZE


MIN_SPOKES = 3


def wheel(axes: Sequence[str], models: Mapping[str, Mapping[str, float | None]]) -> Wheel | None:
    """The wheel of several models over shared axes; ``None`` with fewer than three axes.

    ``models``: name → axis → fraction; an axis a model was not run on pulls its polygon to the centre and says so.
    """
    if len(axes) < MIN_SPOKES or not models:
        return None
    centre = SIZE / 2
    angles = [2 * math.pi * number / len(axes) - math.pi / 2 for number in range(len(axes))]

    def at(angle: float, share: float) -> tuple[float, float]:
        return round(centre + RADIUS * share * math.cos(angle), 1), round(centre + RADIUS * share * math.sin(angle), 1)

    def points(shares: Sequence[float]) -> str:
        return " ".join(f"{x},{y}" for x, y in map(at, angles, shares))

    spokes = []
    for name, angle in zip(axes, angles, strict=True):
        (x, y), (label_x, label_y) = at(angle, 1), at(angle, 1.08)
        side = math.cos(angle)
        anchor = "middle" if abs(side) < 0.15 else "start" if side > 0 else "end"
        spokes.append(Spoke(name, x, y, label_x, label_y, anchor))
    rings = tuple((points([part / 100] * len(axes)), str(part)) for part in (25, 50, 75, 100))
    blades = []
    for series, (model, values) in enumerate(models.items()):
        shares = [values.get(axis) for axis in axes]
        corners = tuple(
            (*at(angle, share or 0.0), f"{model}, {axis}: {'not run' if share is None else f'{100 * share:.1f} %'}")
            for axis, angle, share in zip(axes, angles, shares, strict=True)
        )
        blades.append(Blade(points([share or 0.0 for share in shares]), corners, model, series % SERIES))
    return Wheel(tuple(spokes), rings, tuple(blades))


@dataclass(frozen=True, slots=True)
class Dot:
    """One model in a scatter plot: place, whisker ends, where its name stands."""

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
    """Score against a cost: dots, and ticks as (place, text)."""

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
        text = f"{name}: {100 * y:.1f} % at {x:.4g}"
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
    """Labels moved down until none lies on another."""
    from dataclasses import replace

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
