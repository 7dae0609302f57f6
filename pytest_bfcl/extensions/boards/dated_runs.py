"""Dated runs as a history: a line for each score of a model, with intervals; as text, as CSV and as its own page.

Runs stand side by side in the order of their dates, equally far apart: nightly jobs have gaps, and what matters is the
order. A line leads from run to run as long as both measured the same thing; the result names where it does not.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.extensions.boards.official_csv import as_text
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import clean, shortened
from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.printing import Printer
from pytest_bfcl.reporting.rendering import percent, points, span
from pytest_bfcl.reporting.tables import Cell, Table
from pytest_bfcl.runs.comparability import Purpose, comparability
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.lines import staged
from pytest_bfcl.scoring.statistics import Interval
from pytest_bfcl.scoring.summary import summarise

if TYPE_CHECKING:
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.summary_types import Summary

TEMPLATE = "dated_runs.html.jinja"
FIELDS = ("date", "label", "version", "model", "name", "kind", "value", "low", "high", "judged", "test")
HEAD = ("score", "first", "before", "last", "95 % interval", "change", "course")
GROUP_LINES = ("all", "non_live", "live", "multi_turn", "web_search", "memory")
BLOCKS = "▁▂▃▄▅▆▇█"
SHOWN = 40
"""Most recent runs shown on a terminal."""


class ReadRun(NamedTuple):
    """One run directory with what a history takes from it; runs of one ``test`` measured the same thing."""

    path: Path
    fingerprint: Fingerprint
    summary: Summary
    test: int = 0

    @property
    def label(self) -> str:
        """The name of the run: its folder's name."""
        return self.path.name

    @property
    def date(self) -> str:
        """When it began, in ISO 8601."""
        return self.fingerprint.started_at


@dataclass(frozen=True, slots=True)
class Point:
    """One run on one line: a fraction, its 95 % interval, how many entries were judged.

    ``place`` counts the runs of the history; ``joined`` says that the run just before has the score, too, and measured
    the same thing.
    """

    run: ReadRun
    value: float
    interval: Interval | None
    judged: int
    place: int
    joined: bool

    @property
    def bounds(self) -> Interval:
        """The interval, or the value alone."""
        return self.interval or (self.value, self.value)


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
        """Whether the last value is outside the interval of the one before it, on the same test."""
        if len(self.points) < 2 or not self.points[-1].joined or (before := self.points[-2].interval) is None:
            return False
        return not before[0] <= self.points[-1].value <= before[1]


@dataclass(frozen=True, slots=True)
class Histories:
    """Model → its runs and their lines; ``notes``: what a reader must know."""

    runs: tuple[ReadRun, ...]
    models: dict[str, tuple[list[ReadRun], list[HistoryLine]]]
    notes: tuple[str, ...]


def read_histories(paths: Iterable[Path], *, allow_missing: bool = False) -> Histories:
    """The histories of run directories in any order; damaged and unfinished ones are left out and named. Models keep
    their names; runs of a single model each form one line with any names (checkpoints). Figures are those of the
    summaries; ``allow_missing`` accepts unfinished runs and gaps. Raises `UsageError` if no run is left.
    """
    found: list[ReadRun] = []
    left_out: list[str] = []
    for path in paths:
        try:
            found.append(_read(path, allow_missing))
        except (UsageError, OSError) as error:
            left_out.append(f"left out: {shortened(str(error), 200)}")
    if not found:
        raise UsageError("\n".join(["no run can be part of a history", *left_out[:3]]))
    names = dict.fromkeys(name for run in found for name in run.summary["models"])
    one = len(names) > 1 and all(len(run.summary["models"]) == 1 for run in found)
    made = histories_of(found, checkpoints=one)
    return replace(made, notes=(*made.notes, *left_out))


def _read(path: Path, allow_missing: bool) -> ReadRun:
    run = RunDirectory.open(path)
    try:
        summary = run.summary()
    except UsageError:  # it can be made again
        summary = None
    state = run.fingerprint.state
    if state != "finished" and not allow_missing:
        raise UsageError(f"{path} is not finished ({state}); --allow-missing accepts it")
    if summary is None or state != "finished":
        gaps = run.gaps()
        if gaps and not allow_missing:
            raise UsageError(f"{path} has gaps: {gaps[0]}; --allow-missing accepts it")
        summary = summarise(run.records(), fingerprint=run.fingerprint.to_dict())
    if not summary["models"]:
        raise UsageError(f"{path} has no results")
    return ReadRun(path, run.fingerprint, summary)


def histories_of(runs: Iterable[ReadRun], *, checkpoints: bool = False) -> Histories:
    """The histories of runs; ``checkpoints``: all are one line, however their models are named."""
    found = _numbered(sorted(runs, key=lambda run: (run.date, run.label)))
    notes = [*_changes(found)]
    names = list(dict.fromkeys(name for run in found for name in run.summary["models"]))
    if checkpoints:
        notes.insert(0, "each run has one model; their names differ, and they are shown as one line")
    models: dict[str, list[tuple[ReadRun, Fields]]] = {}
    for run in found:
        for name, numbers in run.summary["models"].items():
            key = f"{names[0]} → {names[-1]}" if checkpoints else name
            models.setdefault(key, []).append((run, numbers))
    lines = {name: ([run for run, _ in dated], _lines(dated)) for name, dated in models.items()}
    return Histories(tuple(found), lines, tuple(notes))


def _numbered(found: Sequence[ReadRun]) -> list[ReadRun]:
    """The runs, each with the number of its test."""
    known: list[Fingerprint] = []
    numbered = []
    for run in found:
        same = (n for n, test in enumerate(known) if not comparability(test, run.fingerprint, Purpose.MODELS).refused)
        number = next(same, len(known))
        if number == len(known):
            known.append(run.fingerprint)
        numbered.append(run._replace(test=number))
    return numbered


def _changes(found: Sequence[ReadRun]) -> Iterator[str]:
    """Where a run and the one before it did not measure the same."""
    for before, run in pairwise(found):
        told = comparability(before.fingerprint, run.fingerprint, Purpose.MODELS)
        if before.test != run.test or told.noted:
            yield f"{run.label} and the run before it: {told.sentence}"


def _lines(dated: Sequence[tuple[ReadRun, Fields]]) -> list[HistoryLine]:
    """The lines of one model's runs: overall, groups, categories; what a run did not ask leaves a gap."""
    lines: dict[tuple[str, str], list[Point]] = {}
    for place, (run, model) in enumerate(dated):
        for kind, name, score in _scores(model):
            if (value := score.get("accuracy")) is not None:
                line = lines.setdefault((kind, name), [])
                before = line[-1] if line and line[-1].place == place - 1 else None
                pair = score.get("interval95")
                judged = int(score.get("passed") or 0) + int(score.get("failed") or 0)
                joined = before is not None and before.run.test == run.test
                line.append(Point(run, value, (pair[0], pair[1]) if pair else None, judged, place, joined))
    names = [("overall", "overall"), *(("group", name) for name in GROUP_LINES), *(("category", n) for n in CATEGORIES)]
    return [HistoryLine(name, kind, tuple(lines[kind, name])) for kind, name in names if (kind, name) in lines]


def _scores(model: Fields) -> Iterator[tuple[str, str, Fields]]:
    yield "overall", "overall", {**model["overall"], "accuracy": model["overall"]["value"]}
    yield from (("group", name, model["groups"][name]) for name in GROUP_LINES if name in model["groups"])
    yield from (("category", name, score) for name, score in model["categories"].items())


# Text and CSV.


def print_histories(found: Histories) -> None:
    """A table a model: first value, last, the last change, and all values as a line of blocks."""
    printer = Printer()
    ends = " to ".join(f"{run.date[:10]} ({run.label})" for run in (found.runs[0], found.runs[-1]))
    printer.line(clean(f"{len(found.runs)} runs, {ends}"), "bold")
    for note in found.notes:
        printer.line(clean(f"note: {note}"), "yellow")
    for model, (_, lines) in found.models.items():
        printer.line(clean(model), "bold")
        longest = max(len(line.points) for line in lines)
        rows = [_cells(line, min(longest, SHOWN)) for line in lines]
        printer.table(Table(HEAD, rows, spare=("first", "before", "course")))


def _cells(line: HistoryLine, longest: int) -> tuple[str | Cell, ...]:
    values = [point.value for point in line.points]
    last = line.points[-1]
    before = line.points[-2].value if len(line.points) > 1 else None
    interval = f"{points(last.interval[0])} to {points(last.interval[1])}" if last.interval else ""
    change: str | Cell = f"{100 * (last.value - before):+.1f}" if before is not None and last.joined else ""
    if line.outside and before is not None:
        change = Cell(f"{change} !", mark="down" if last.value < before else "up")
    shown = (line.name, percent(values[0]), percent(before) if before is not None else "", percent(last.value))
    return (*shown, interval, change, course(values[-SHOWN:]).ljust(longest))


def course(values: Sequence[float]) -> str:
    """Values as blocks of eight heights, between their minimum and maximum."""
    low, high = min(values), max(values)
    if high - low < 1e-9:
        return BLOCKS[3] * len(values)
    return "".join(BLOCKS[min(int(8 * (value - low) / (high - low)), 7)] for value in values)


def histories_csv(found: Histories) -> str:
    """A row a point; labels cannot be formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for model, (_, lines) in found.models.items():
        for line in lines:
            for point in line.points:
                run, words = point.run, (model, line.name, line.kind)
                named = map(as_text, (run.date, run.label, run.fingerprint.plugin_version, *words))
                writer.writerow([*named, point.value, *(point.interval or (None, None)), point.judged, run.test])
    return text.getvalue()


# Page.

WIDTH, HEIGHT = 360.0, 120.0
LEFT, RIGHT, TOP, BOTTOM = 34.0, 8.0, 8.0, 18.0


def histories_html(found: Histories) -> str:
    """The histories as one self-contained page."""
    return rendering.render(TEMPLATE, TEMPLATES, **histories_values(found))


def histories_values(found: Histories) -> Parsed:
    """What `TEMPLATE` makes the page of; the model with most runs first."""
    models = []
    for name, (runs, lines) in sorted(found.models.items(), key=lambda model: -len(model[1][0])):
        head = ["date", "run", "version", *(each.name for each in lines)]
        models.append((name, list(map(_chart, lines)), head, [_row(run, lines) for run in runs]))
    return {"models": models, "notes": found.notes, "count": len(found.runs)}


def _row(run: ReadRun, lines: Sequence[HistoryLine]) -> list[str]:
    values = (next((percent(point.value) for point in line.points if point.run is run), "") for line in lines)
    return [run.date[:10], run.label, run.fingerprint.plugin_version, *values]


def _chart(line: HistoryLine) -> Parsed:
    """One line: its points for SVG and the band of its intervals, in joined pieces, and the words next to it."""
    bounds = [point.bounds for point in line.points]
    bottom, top = max(min(low for low, _ in bounds) - 0.02, 0.0), min(max(high for _, high in bounds) + 0.02, 1.0)
    height = max(top - bottom, 0.02)
    first, last = line.points[0], line.points[-1]
    steps = last.place - first.place

    def x(point: Point) -> float:
        share = (point.place - first.place) / steps if steps else 0.5
        return round(LEFT + (WIDTH - LEFT - RIGHT) * share, 1)

    def y(value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - bottom) / height), 1)

    pieces: list[list[Point]] = []
    for point in line.points:
        if point.joined and pieces:
            pieces[-1].append(point)
        else:
            pieces.append([point])
    edges = ([*((p, p.bounds[1]) for p in piece), *((p, p.bounds[0]) for p in reversed(piece))] for piece in pieces)
    change = 100 * line.change
    beyond = first.bounds[0] > last.bounds[1] or last.bounds[0] > first.bounds[1]
    return {
        "name": line.name,
        "lines": [" ".join(f"{x(point)},{y(point.value)}" for point in piece) for piece in pieces],
        "bands": [" ".join(f"{x(point)},{y(value)}" for point, value in edge) for edge in edges],
        "dots": [(x(point), y(point.value), _point_text(point)) for point in line.points],
        "ticks": [(y(value), f"{100 * value:.0f}") for value in (bottom, bottom + height / 2, bottom + height)],
        "first": first.run.date[:10],
        "last": last.run.date[:10],
        "now": percent(last.value),
        "change": "" if len(line.points) == 1 else f"{change:+.1f} points",
        "direction": ("up" if change > 0 else "down") if beyond and first.interval and last.interval else "",
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
    }


def _point_text(point: Point) -> str:
    run = point.run
    spread = f" (95 %: {span(point.interval)})" if point.interval else ""
    version = f", pytest-bfcl {run.fingerprint.plugin_version}" if run.fingerprint.plugin_version else ""
    return f"{run.label}, {run.date[:10]}: {percent(point.value)}{spread}, {point.judged} judged{version}"


def write_histories(found: Histories, out: Path) -> list[Path]:
    """Write ``history.html`` and ``history.csv`` into ``out``; returns the paths."""
    pages = {"history.html": histories_html(found), "history.csv": histories_csv(found)}
    with staged(out) as place:
        place.mkdir()
        for name, text in pages.items():
            rendering.write_page(place / name, text)
    return [out / name for name in pages]
