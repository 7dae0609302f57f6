"""The history of a model as charts: geometry for ``history.html.jinja``, in plain numbers.

One small chart a line; runs stand side by side in the order of their dates, equally far apart, since nightly jobs have
gaps and what matters is the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_bfcl.extensions.boards.history import HistoryLine, Point
from pytest_bfcl.reporting.rendering import percent, points
from pytest_bfcl.scoring.statistics import Interval

WIDTH, HEIGHT = 360.0, 120.0
LEFT, RIGHT, TOP, BOTTOM = 34.0, 8.0, 8.0, 18.0


@dataclass(frozen=True, slots=True)
class Dot:
    """One run on a chart, and what is said of it."""

    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True)
class HistoryChart:
    """One line: its points for SVG and the band of its intervals, in joined pieces, and the words beside it."""

    name: str
    kind: str
    lines: tuple[str, ...]
    bands: tuple[str, ...]
    dots: tuple[Dot, ...]
    ticks: tuple[tuple[float, str], ...]
    first: str
    last: str
    now: str
    change: str
    direction: str
    points: tuple[Point, ...]
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT


def history_charts(lines: Sequence[HistoryLine]) -> list[HistoryChart]:
    """A chart for each line."""
    return [_chart(line) for line in lines]


def _chart(line: HistoryLine) -> HistoryChart:
    lows = [point.interval[0] if point.interval else point.value for point in line.points]
    highs = [point.interval[1] if point.interval else point.value for point in line.points]
    bottom, top = max(min(lows) - 0.02, 0.0), min(max(highs) + 0.02, 1.0)
    span = max(top - bottom, 0.02)

    begin = line.points[0].place
    steps = line.points[-1].place - begin

    def x(place: int) -> float:
        share = (place - begin) / steps if steps else 0.5
        return round(LEFT + (WIDTH - LEFT - RIGHT) * share, 1)

    def y(value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - bottom) / span), 1)

    dots = tuple(Dot(x(point.place), y(point.value), _point_text(point)) for point in line.points)
    pieces = _pieces(line.points)
    change = 100 * line.change
    first, last = line.points[0], line.points[-1]
    beyond = first.interval is not None and last.interval is not None and _apart(first.interval, last.interval)
    return HistoryChart(
        line.name,
        line.kind,
        tuple(" ".join(f"{dots[n].x},{dots[n].y}" for n in piece) for piece in pieces),
        tuple(
            " ".join([f"{dots[n].x},{y(highs[n])}" for n in piece] + [f"{dots[n].x},{y(lows[n])}" for n in piece[::-1]])
            for piece in pieces
        ),
        dots,
        tuple((y(value), f"{100 * value:.0f}") for value in (bottom, bottom + span / 2, bottom + span)),
        first.date[:10],
        last.date[:10],
        percent(last.value),
        "" if len(line.points) == 1 else f"{change:+.1f} points",
        ("up" if change > 0 else "down") if beyond else "",
        line.points,
    )


def _pieces(points: Sequence[Point]) -> list[list[int]]:
    """Points that are joined, by number."""
    pieces: list[list[int]] = []
    for number, point in enumerate(points):
        if point.joined and pieces:
            pieces[-1].append(number)
        else:
            pieces.append([number])
    return pieces


def _apart(first: Interval, last: Interval) -> bool:
    return first[0] > last[1] or last[0] > first[1]


def _point_text(point: Point) -> str:
    spread = f" (95 %: {points(point.interval[0])} – {points(point.interval[1])})" if point.interval else ""
    version = f", pytest-bfcl {point.version}" if point.version else ""
    return f"{point.label}, {point.date[:10]}: {percent(point.value)}{spread}, {point.judged} judged{version}"
