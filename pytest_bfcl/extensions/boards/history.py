"""A model's scores over dated runs: a line for each category and group, with intervals and version labels.

A line joins consecutive runs of the same test (`DatedRun.test`). Charts (geometry for ``history.html.jinja``, in plain
numbers) show one line each. Runs have equal distances in the order of their dates, because nightly jobs have gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.rendering import percent, points
from pytest_bfcl.scoring.statistics import Interval

GROUP_LINES = ("all", "non_live", "live", "multi_turn", "web_search", "memory")
OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class Point:
    """One run on one line: when it began (ISO 8601), its label, a fraction and its 95 % interval.

    ``place`` is the run's number in the history; ``joined``: the run before has the score, too, and measured the same
    test.
    """

    date: str
    label: str
    version: str
    value: float
    interval: Interval | None
    judged: int
    place: int = 0
    joined: bool = False


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One category, group or the overall score over the runs, in the order of their dates."""

    name: str
    kind: str
    points: tuple[Point, ...]

    @property
    def change(self) -> float:
        """The last value minus the first of the same test."""
        begin = next(n for n in reversed(range(len(self.points))) if n == 0 or not self.points[n].joined)
        return self.points[-1].value - self.points[begin].value

    @property
    def outside(self) -> bool:
        """Whether the last value is outside the interval of the one before it, on the same test."""
        if len(self.points) < 2 or not self.points[-1].joined:
            return False
        interval = self.points[-2].interval
        return interval is not None and not interval[0] <= self.points[-1].value <= interval[1]


@dataclass(frozen=True, slots=True)
class DatedRun:
    """One run of a model: when, under which label, by which version, and its part of ``summary.json``.

    ``test``: runs with an equal number measured the same test.
    """

    date: str
    label: str
    version: str
    model: Fields
    test: int = 0


def history(runs: Iterable[DatedRun]) -> list[HistoryLine]:
    """The lines of one model's runs: overall, groups, categories; a missing score is a gap."""
    ordered = sorted(runs, key=lambda run: (run.date, run.label))
    lines: dict[tuple[str, str], list[Point]] = {}
    for place, run in enumerate(ordered):
        for kind, name, score in _scores(run.model):
            line = lines.setdefault((kind, name), [])
            joined = bool(line) and line[-1].place == place - 1 and ordered[place - 1].test == run.test
            found = _point(run, score, place, joined)
            if found is not None:
                line.append(found)
    names = [("overall", OVERALL), *(("group", name) for name in GROUP_LINES), *(("category", n) for n in CATEGORIES)]
    return [HistoryLine(name, kind, tuple(lines[kind, name])) for kind, name in names if lines.get((kind, name))]


def _scores(model: Fields) -> Iterator[tuple[str, str, Fields]]:
    yield "overall", OVERALL, {**model["overall"], "accuracy": model["overall"]["value"]}
    groups: Mapping[str, Fields] = model["groups"]
    yield from (("group", name, groups[name]) for name in GROUP_LINES if name in groups)
    yield from (("category", name, score) for name, score in model["categories"].items())


def _point(run: DatedRun, score: Fields, place: int, joined: bool) -> Point | None:
    value = score.get("accuracy")
    if value is None:
        return None
    pair = score.get("interval95")
    judged = int(score.get("passed") or 0) + int(score.get("failed") or 0)
    interval = (pair[0], pair[1]) if pair else None
    return Point(run.date, run.label, run.version, value, interval, judged, place, joined)


WIDTH, HEIGHT = 360.0, 120.0
LEFT, RIGHT, TOP, BOTTOM = 34.0, 8.0, 8.0, 18.0


@dataclass(frozen=True, slots=True)
class Dot:
    """One run on a chart, with its facts."""

    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True)
class HistoryChart:
    """One line: its points for SVG and the band of its intervals, in joined pieces, and the words next to it."""

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
