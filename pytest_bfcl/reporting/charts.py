"""Geometry of the charts: bars with interval whiskers, and the wagon wheel.

Templates draw these numbers as inline SVG. Colours come from the page's style by series number, so that charts follow
the theme.
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
    """One bar: its position, length, whisker ends and the mark of the corrected score (``None`` without one)."""

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
    """A chart of one group; x of bars starts at ``left``, and 100 % is at ``left + plot``."""

    name: str
    bars: tuple[Bar, ...]
    height: float
    left: int = LEFT
    plot: int = PLOT
    width: int = LEFT + PLOT + 54

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Positions of the lines of 0, 25 … 100 %."""
        return [(self.left + self.plot * part / 100, f"{part}") for part in (0, 25, 50, 75, 100)]


def bar_chart(name: str, members: Sequence[str], models: Mapping[str, Fields]) -> BarChart | None:
    """The bars of a group's categories for every model; ``None`` if nothing of it was run."""
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
    """One axis of the wheel: its outer end and the position of its name."""

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

    ``models``: name → axis → fraction; on an axis without a value the polygon goes to the centre, with a note.
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
