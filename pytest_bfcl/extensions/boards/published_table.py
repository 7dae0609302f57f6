"""Published rows next to measured models, as values of the template ``published.html.jinja`` and as a section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.extensions.boards.published import (
    COLUMNS,
    Beside,
    Comparison,
    PublishedBoard,
    Row,
    Shown,
    counts_of,
    kept,
)
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.reporting.rendering import environment
from pytest_bfcl.reporting.sections import Section
from pytest_bfcl.scoring.statistics import Interval, interval
from pytest_bfcl.scoring.summary import plain_records

if TYPE_CHECKING:
    from pytest_bfcl.runs.directory import RunDirectory

MOST_MODELS = 6
"""Measured models with a column of distances."""


class Line(NamedTuple):
    """A published row, or a measured model (``row`` ``None``); ``distances``: one for each model."""

    name: str
    score: float
    span: Interval
    row: Row | None
    distances: tuple[Beside, ...]


class Table(NamedTuple):
    """Measured models over the same columns, and the published rows, best first."""

    basis: str
    models: tuple[str, ...]
    lines: tuple[Line, ...]


def published_values(shown: Shown) -> Parsed:
    """``description``, ``marks`` and ``tables``: one for each set of the models' columns."""
    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for each in sorted(shown.comparisons, key=lambda each: -each.score):
        groups.setdefault(each.columns, []).append(each)
    tables = [_table(group[:MOST_MODELS]) for group in groups.values()]
    return {"description": shown.board.description, "marks": shown.marks, "tables": tables}


def _table(group: Sequence[Comparison]) -> Table:
    first = group[0]
    if first.complete:
        basis = "The overall score, with today's weights."
    else:
        basis = f"Over {len(first.columns)} of {len(COLUMNS)} columns, weights rescaled: {', '.join(first.columns)}."
    lines = [Line(each.model, each.score, interval(each.score, each.spread), None, ()) for each in group]
    for distances in zip(*(each.rows for each in group), strict=True):  # rows over the same columns, in the same order
        beside = distances[0]
        lines.append(Line(beside.row.name, beside.score, beside.interval, beside.row, distances))
    lines.sort(key=lambda line: (-line.score, line.row is not None, line.name))
    return Table(basis, tuple(each.model for each in group), tuple(lines))


def published(run: RunDirectory, lines: Sequence[Fields]) -> Section | None:
    """The section of a run with a table. Raises `UsageError` if it is damaged."""
    board = kept(run.path)
    return None if board is None else section_of(board, run)


def section_of(board: PublishedBoard, run: RunDirectory) -> Section:
    """A report's section: a table next to the models of a run."""
    values = published_values(board.beside([(run.fingerprint, counts_of(plain_records(run)))]))
    tables: Any = environment(TEMPLATES).get_template("published.html.jinja").module
    return Section("published", "Published", tables.tables(values))
