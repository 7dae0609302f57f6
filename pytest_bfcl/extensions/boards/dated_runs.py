"""Dated runs as a history: read from their directories, written as text, as CSV and as a page. Runs of another test
stay in the history; lines end there (`history`), and a note names the change.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.extensions.boards.history import DatedRun, HistoryLine, history, history_charts
from pytest_bfcl.extensions.boards.official_csv import as_text
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import clean, shortened
from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.printing import Printer
from pytest_bfcl.reporting.rendering import percent, points
from pytest_bfcl.runs.comparability import Comparability, Purpose, comparability
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.lines import staged
from pytest_bfcl.scoring.summary import summarise

if TYPE_CHECKING:
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.summary_types import Summary

TEMPLATE = "dated_runs.html.jinja"
FIELDS = ("date", "label", "version", "model", "name", "kind", "value", "low", "high", "judged", "test")
HEAD = ("score", "first", "before", "last", "95 % interval", "change", "course")
BLOCKS = "▁▂▃▄▅▆▇█"
SHOWN = 40
"""Most recent runs shown on a terminal."""


class ReadRun(NamedTuple):
    """One run directory with the parts that a history uses."""

    path: Path
    fingerprint: Fingerprint
    summary: Summary

    @property
    def label(self) -> str:
        """The name of the run: its folder's name."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Histories:
    """Model → its dated runs and their lines; ``notes`` for the reader."""

    runs: tuple[ReadRun, ...]
    models: dict[str, tuple[list[DatedRun], list[HistoryLine]]]
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


def histories_of(runs: Iterable[ReadRun], *, checkpoints: bool = False) -> Histories:
    """The histories of runs; ``checkpoints``: all are one line, with any names."""
    found = sorted(runs, key=lambda run: (run.fingerprint.started_at, run.label))
    tests, notes = _tests(found)
    names = list(dict.fromkeys(name for run in found for name in run.summary["models"]))
    if checkpoints:
        notes.insert(0, "each run has one model; their names differ, and they are shown as one line")
    dated: dict[str, list[DatedRun]] = {}
    for run, test in zip(found, tests, strict=True):
        for name, numbers in run.summary["models"].items():
            known = run.fingerprint
            key = f"{names[0]} → {names[-1]}" if checkpoints else name
            dated.setdefault(key, []).append(DatedRun(known.started_at, run.label, known.plugin_version, numbers, test))
    models = {name: (runs, history(runs)) for name, runs in dated.items()}
    return Histories(tuple(found), models, tuple(notes))


def _tests(found: Sequence[ReadRun]) -> tuple[list[int], list[str]]:
    """The number of each run's test, and a note where it changes."""
    known: list[Fingerprint] = []
    numbers: list[int] = []
    notes: list[str] = []
    for run in found:
        same = (n for n, test in enumerate(known) if not _other_test(test, run.fingerprint).refused)
        number = next(same, len(known))
        if number == len(known):
            known.append(run.fingerprint)
        if numbers and numbers[-1] != number:
            told = _other_test(known[numbers[-1]], run.fingerprint).sentence
            notes.append(f"{run.label} and the run before it: {told}")
        elif numbers and (found_now := _other_test(found[len(numbers) - 1].fingerprint, run.fingerprint)).noted:
            notes.append(f"{run.label} and the run before it: {found_now.sentence}")
        numbers.append(number)
    return numbers, notes


def _other_test(one: Fingerprint, other: Fingerprint) -> Comparability:
    return comparability(one, other, Purpose.MODELS)


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


# Text.


def print_histories(found: Histories) -> None:
    """A table a model: first value, last, the last change, and all values as a line of blocks."""
    printer = Printer()
    ends = " to ".join(f"{run.fingerprint.started_at[:10]} ({run.label})" for run in (found.runs[0], found.runs[-1]))
    printer.line(clean(f"{len(found.runs)} runs, {ends}"), "bold")
    for note in found.notes:
        printer.line(clean(f"note: {note}"), "yellow")
    for model, (_, lines) in found.models.items():
        printer.line(clean(model), "bold")
        longest = max(len(line.points) for line in lines)
        rows = [(*cells, shown.ljust(min(longest, SHOWN))) for *cells, shown in map(_cells, lines)]
        printer.table(HEAD, rows, styles=[_style(line) for line in lines])


def _style(line: HistoryLine) -> str:
    if not line.outside:
        return ""
    return "red" if line.points[-1].value < line.points[-2].value else "green"


def _cells(line: HistoryLine) -> tuple[str, ...]:
    values = [point.value for point in line.points]
    last = line.points[-1]
    before = line.points[-2].value if len(line.points) > 1 else None
    interval = f"{points(last.interval[0])} to {points(last.interval[1])}" if last.interval else ""
    change = f"{100 * (last.value - before):+.1f}" if before is not None and last.joined else ""
    shown = (line.name, percent(values[0]), percent(before) if before is not None else "", percent(last.value))
    return (*shown, interval, change + (" !" if line.outside else ""), course(values[-SHOWN:]))


def course(values: Sequence[float]) -> str:
    """Values as blocks of eight heights, between their minimum and maximum."""
    low, high = min(values), max(values)
    if high - low < 1e-9:
        return BLOCKS[3] * len(values)
    return "".join(BLOCKS[min(int(8 * (value - low) / (high - low)), 7)] for value in values)


# CSV and page.


def histories_csv(found: Histories) -> str:
    """A row a point; labels cannot be formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for row in _rows(found):
        writer.writerow([as_text(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue()


def _rows(found: Histories) -> Iterator[tuple[str | float | int | None, ...]]:
    for model, (runs, lines) in found.models.items():
        tests = [run.test for run in sorted(runs, key=lambda run: (run.date, run.label))]
        for line in lines:
            for point in line.points:
                low, high = point.interval or (None, None)
                yield (
                    point.date, point.label, point.version, model, line.name, line.kind, point.value, low, high,
                    point.judged, tests[point.place],
                )  # fmt: skip


def histories_html(found: Histories) -> str:
    """The histories as one self-contained page."""
    return rendering.render(TEMPLATE, TEMPLATES, **histories_values(found))


def histories_values(found: Histories) -> Parsed:
    """The values of the page's `TEMPLATE`; the model with most runs first."""
    models = [(name, history_charts(lines), runs) for name, (runs, lines) in found.models.items()]
    models.sort(key=lambda model: -len(model[2]))
    return {"models": models, "notes": found.notes, "count": len(found.runs)}


def write_histories(found: Histories, out: Path) -> list[Path]:
    """Write ``history.html`` and ``history.csv`` into ``out``; returns the paths."""
    pages = {"history.html": histories_html(found), "history.csv": histories_csv(found)}
    with staged(out) as place:
        place.mkdir()
        for name, text in pages.items():
            rendering.write_page(place / name, text)
    return [out / name for name in pages]
