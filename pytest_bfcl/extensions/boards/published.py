"""Rows of a published ``data_overall.csv`` next to a run's own: not measured here, with their distances.

The file is the user's. It has one accuracy a column and no entries (scoring spec §6). So a row's variance is that of
independent entries times the run's design effect, and a distance is unpaired, with a wider interval than a paired one.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.boards.official_csv import OVERALL
from pytest_bfcl.failures import UsageError, of_option
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import clean
from pytest_bfcl.reporting.rendering import signed
from pytest_bfcl.runs.comparability import published_comparability
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import CategoryScore
from pytest_bfcl.scoring.statistics import Interval, Spread, Tally, spread_of
from pytest_bfcl.scoring.tally import ModelTally
from pytest_bfcl.session.closing import FOLDER

if TYPE_CHECKING:
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary

MOST_LACKING = 0.02
"""Share of a category's entries that may lack a verdict (`--bfcl-max-errors`); above it a column is incomplete."""
MOST_BYTES = 2_000_000
MOST_ROWS = 2_000
MOST_NAME = 120

NEEDED = frozenset(aggregate.categories_in(aggregate.OVERALL))
COLUMNS: Mapping[str, tuple[str, ...]] = {
    name: tuple(aggregate.categories_in(term))
    for name, term in OVERALL.items()
    if isinstance(term, str) or term in (aggregate.SIMPLE, aggregate.IRRELEVANCE)
}
"""Column → the categories whose plain mean it is."""
_DATE = re.compile(r"20\d\d-[01]\d-[0-3]\d")
_RELEASE = r"20\d\d\.\d{1,2}\.\d{1,2}"
_VERSION = re.compile(_RELEASE + r"|[vV]\d(?:\.\d+)*(?![\w])")

Counts = Mapping[str, Mapping[str, Tally]]
"""Model → category → counts by official rules, as the table has them."""


@dataclass(frozen=True, slots=True)
class Row:
    """One published model; accuracies are fractions, columns without a number are left out."""

    rank: int | None
    name: str
    link: str
    organisation: str
    licence: str
    overall: float | None
    columns: Mapping[str, float]

    def score(self, columns: Sequence[str]) -> tuple[float, Spread] | None:
        """The overall formula over these columns, and its variance; ``None`` if one has no number."""
        if any(name not in self.columns for name in columns):
            return None
        accuracies = {part: self.columns[name] for name in columns for part in COLUMNS[name]}
        sizes = {name: CATEGORIES[name].official_size for name in accuracies}
        weights = aggregate.category_weights(aggregate.OVERALL, sizes)
        found = aggregate.value(aggregate.OVERALL, {n: CategoryScore(a, sizes[n]) for n, a in accuracies.items()})
        spreads = (weights[name] ** 2 * a * (1 - a) / sizes[name] for name, a in accuracies.items())
        return None if found is None else (found, Spread(math.fsum(spreads), math.inf))


@dataclass(frozen=True, slots=True)
class PublishedBoard:
    """A published table; ``version`` and ``date`` from its name, else from its columns and the file."""

    path: Path
    version: str
    date: str
    sha256: str
    rows: tuple[Row, ...]

    @property
    def description(self) -> str:
        """Its description."""
        known = f"{self.version}, {self.date}, {self.sha256[:8]}"
        return f"{self.path.name} ({known}), {len(self.rows)} models, not measured here"

    def keep(self, run: Path) -> None:
        """Copy the table to a run, with the time of the file; it replaces an earlier one."""
        folder = run / FOLDER
        if folder.is_dir():
            for kept_before in folder.glob("*.csv"):
                kept_before.unlink()
        folder.mkdir(exist_ok=True)
        shutil.copy2(self.path, folder / f"{self.path.stem[:MOST_NAME]}.csv")

    @property
    def data_version(self) -> str:
        """The data's release from the name; a version of the leaderboard does not show it."""
        return self.version if re.fullmatch(_RELEASE, self.version) else ""

    def beside(self, runs: Iterable[tuple[Fingerprint, Counts]]) -> Shown:
        """The models of runs next to the table, each run by its own fingerprint; refused runs have none."""
        placed: list[Comparison] = []
        marks: list[str] = []
        refused = False
        for run, models in runs:
            found = published_comparability(run, self.data_version)
            if not found.same:
                marks.append(f"{', '.join(models)}: {'not shown, ' if found.refused else ''}{found.sentence}")
            refused = refused or bool(found.refused)
            if not found.refused:
                placed += filter(None, (compared(self, name, tallies) for name, tallies in models.items()))
        return Shown(self, tuple(placed), tuple(marks), refused)

    def tell(self, summary: Summary, lines: Iterable[ResultLine]) -> None:
        """Add each model's place to the summary (`pytest_bfcl.session.closing.Board`)."""
        run, counts = Fingerprint.from_dict(dict(summary["fingerprint"])), counts_of(lines)
        for name in counts.keys() & summary["models"].keys():
            shown = self.beside([(run, {name: counts[name]})])
            summary["models"][name]["published"] = "; ".join(shown.lines())


@dataclass(frozen=True, slots=True)
class Shown:
    """A table with the models next to it; ``marks``: differences of runs from it, or reasons against, a line each."""

    board: PublishedBoard
    comparisons: tuple[Comparison, ...]
    marks: tuple[str, ...]
    refused: bool

    def lines(self) -> Iterator[str]:
        """In words: each model's place, then the marks."""
        yield from (f"{each.model} {each.sentence}" for each in self.comparisons)
        if not self.comparisons and not self.refused:
            yield f"not shown beside {self.board.description}: no column was run whole"
        yield from (f"published leaderboard: {mark}" for mark in self.marks)

    def checked(self) -> Shown:
        """Itself. Raises `UsageError` if it refuses a run."""
        if not self.refused:
            return self
        told = "\n".join(f"  {mark}" for mark in self.marks)
        raise UsageError(f"cannot be compared with {self.board.description}\n{told}\n{ADVICE}")


ADVICE = "run whole categories of --bfcl-data official by the official settings, or leave the board out"


@dataclass(frozen=True, slots=True)
class Beside:
    """A published row compared with one model: its score over the model's columns, and the difference with interval."""

    row: Row
    score: float
    interval: Interval
    difference: float
    interval95: Interval

    @property
    def tie(self) -> bool:
        """Whether the difference is within the noise."""
        return self.interval95[0] <= 0 <= self.interval95[1]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One model's score over ``columns`` and every published row that has them, best first."""

    board: PublishedBoard
    model: str
    columns: tuple[str, ...]
    score: float
    spread: Spread
    rows: tuple[Beside, ...]

    @property
    def complete(self) -> bool:
        """Whether these are all columns of the overall score."""
        return len(self.columns) == len(COLUMNS)

    @property
    def sentence(self) -> str:
        """In a sentence: the neighbouring rows, and how many are within the noise."""
        above = [each for each in self.rows if each.score > self.score]
        below = [each for each in self.rows if each.score <= self.score]
        near = [
            *(f"below {_row_text(each)}" for each in above[-1:]),
            *(f"above {_row_text(each)}" for each in below[:1]),
        ]
        basis = "overall" if self.complete else f"over {len(self.columns)} of {len(COLUMNS)} columns"
        ties = sum(each.tie for each in self.rows)
        place = f"{100 * self.score:.2f} {basis} would stand {' and '.join(near) or 'alone'}"
        return f"beside {self.board.description}: {place}; {ties} of {len(self.rows)} rows are within the noise"


def _row_text(each: Beside) -> str:
    low, high = (100 * bound for bound in each.interval95)
    return f"{each.row.name} {100 * each.score:.2f} ({signed(each.difference)}, {low:+.2f} to {high:+.2f})"


def read_board(path: Path) -> PublishedBoard:
    """A published table. Raises `UsageError` for any other file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is larger than {MOST_BYTES:,} bytes: a published data_overall.csv is not")
        content = path.read_bytes()
        day = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
        lines = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    except (OSError, UnicodeError, csv.Error) as error:
        raise UsageError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}; name a published data_overall.csv"
        ) from None
    known = set(lines[0]) & set(COLUMNS) if lines else set()
    if not known or not {"Model", "Overall Acc"} <= set(lines[0]):
        raise UsageError(f"{path} is no data_overall.csv: it lacks Model, Overall Acc or the columns of categories")
    if len(lines) > MOST_ROWS:
        raise UsageError(f"{path} has {len(lines):,} rows, more than the {MOST_ROWS:,} that are read")
    rows = tuple(_row(path, number, line) for number, line in enumerate(lines, 2))
    named = _VERSION.search(path.stem), _DATE.search(path.stem)
    version = named[0].group() if named[0] else ("columns of V4" if "Memory KV" in known else "columns of V3 or before")
    date = named[1].group() if named[1] else f"file of {day}"
    return PublishedBoard(path, version, date, hashlib.sha256(content).hexdigest(), rows)


def named(path: Path, run: Fingerprint) -> PublishedBoard:
    """The table for a run that is about to start. Raises `UsageError` if it refuses the run."""
    with of_option("board"):
        board = read_board(path)
    board.beside([(run, {each.model: {} for each in run.models})]).checked()
    return board


def kept(run: Path) -> PublishedBoard | None:
    """The table stored with a run. Raises `UsageError` if it is damaged."""
    found = sorted((run / FOLDER).glob("*.csv"))
    return read_board(found[0]) if found else None


def compared(board: PublishedBoard, model: str, tallies: Mapping[str, Tally]) -> Comparison | None:
    """A model's official counts by category for the table; ``None`` if no column is complete."""
    had = {name for name in NEEDED & tallies.keys() if _is_whole(name, tallies[name])}
    columns = tuple(name for name, parts in COLUMNS.items() if had.issuperset(parts))
    scores = {
        part: CategoryScore(tallies[part].accuracy or 0.0, CATEGORIES[part].official_size)
        for name in columns for part in COLUMNS[name]
    }  # fmt: skip
    score = aggregate.value(aggregate.OVERALL, scores)
    if score is None:
        return None
    weights = aggregate.category_weights(aggregate.OVERALL, {name: each.total for name, each in scores.items()})
    spread = spread_of(weights, tallies)
    alone = math.fsum(weight**2 * tallies[name].independent() for name, weight in weights.items())
    design = max(1.0, spread.variance / alone) if alone else 1.0
    rows = sorted(_beside(board, columns, score, spread, design), key=lambda each: (-each.score, each.row.name))
    return Comparison(board, model, columns, score, spread, tuple(rows))


def _is_whole(category: str, tally: Tally) -> bool:
    return tally.total >= (1 - MOST_LACKING) * CATEGORIES[category].official_size


def counts_of(records: Iterable[Fields]) -> Counts:
    """Every model of a run's lines, by official rules."""
    tallies: dict[str, ModelTally] = {}
    for record in records:
        name = str(record.get("model") or "model")
        tallies.setdefault(name, ModelTally(name, "")).add(cast("ResultLine", record))
    return {
        name: {category: each.official for category, each in tally.categories.items()}
        for name, tally in tallies.items()
    }


def _beside(
    board: PublishedBoard, columns: Sequence[str], score: float, spread: Spread, design: float
) -> Iterator[Beside]:
    """``design``: the factor of the run's own variance over that of independent entries; also used for rows."""
    for row in board.rows:
        found = row.score(columns)
        if found is None:
            continue
        theirs, independent = found
        their_spread = Spread(independent.variance * design, spread.freedom)
        half = their_spread.half_width
        both = Spread(spread.variance + their_spread.variance, spread.freedom).half_width
        distance = score - theirs
        span = (max(0.0, theirs - half), min(1.0, theirs + half))
        yield Beside(row, theirs, span, distance, (distance - both, distance + both))


def _row(path: Path, number: int, line: Mapping[str, str | None]) -> Row:
    def text(name: str) -> str:
        return clean(str(line.get(name) or "")).strip()[:MOST_NAME]

    accuracies = {name: _accuracy(path, number, name, line.get(name)) for name in ("Overall Acc", *COLUMNS)}
    rank, link = text("Rank"), str(line.get("Model Link") or "").strip()
    return Row(
        int(rank) if rank.isdecimal() else None,
        text("Model"),
        link if link.startswith(("https://", "http://")) else "",
        text("Organization"),
        text("License"),
        accuracies["Overall Acc"],
        {name: value for name in COLUMNS if (value := accuracies[name]) is not None},
    )


def _accuracy(path: Path, number: int, name: str, text: object) -> float | None:
    told = str(text or "").strip()
    if told in ("", "N/A"):
        return None
    try:
        value = float(told.removesuffix("%")) / 100
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise UsageError(f"{path}:{number}: {name}: {told[:40]!r} is no accuracy in percent")
    return value
