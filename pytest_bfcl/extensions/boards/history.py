"""How a model's scores went over dated runs: a line for each category and group, with intervals and version labels.

Lines lead from run to run as long as both measured the same thing (`DatedRun.test`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.json_types import Fields
from pytest_bfcl.scoring.statistics import Interval

GROUP_LINES = ("all", "non_live", "live", "multi_turn", "web_search", "memory")
OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class Point:
    """One run on one line: when it began (ISO 8601), its label, a fraction and its 95 % interval.

    ``place`` counts the runs of the history; ``joined`` says that the run just before has the score, too, and measured
    the same thing.
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
    """One category, group or the overall value over the runs, in the order of their dates."""

    name: str
    kind: str
    points: tuple[Point, ...]

    @property
    def change(self) -> float:
        """The last value minus the first that a line leads from: values of other tests are no change."""
        begin = next(n for n in reversed(range(len(self.points))) if n == 0 or not self.points[n].joined)
        return self.points[-1].value - self.points[begin].value

    @property
    def outside(self) -> bool:
        """Whether the last value lies outside the interval of the one before it, on the same test."""
        if len(self.points) < 2 or not self.points[-1].joined:
            return False
        interval = self.points[-2].interval
        return interval is not None and not interval[0] <= self.points[-1].value <= interval[1]


@dataclass(frozen=True, slots=True)
class DatedRun:
    """One run of a model: when, under which label, by which version, and its part of ``summary.json``.

    ``test`` numbers what was measured: runs of one number measured the same thing.
    """

    date: str
    label: str
    version: str
    model: Fields
    test: int = 0


def history(runs: Iterable[DatedRun]) -> list[HistoryLine]:
    """The lines of one model's runs: overall, groups, categories; what a run did not ask leaves a gap."""
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
