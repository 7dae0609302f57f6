"""Published rows beside measured models, as values of the template ``published.html.jinja``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.scoring.published import COLUMNS, Beside, Comparison, PublishedBoard, Row
from pytest_bfcl.scoring.statistics import Interval, interval

MOST_MODELS = 6
"""Measured models with a column of distances."""


class Line(NamedTuple):
    """A published row, or a measured model among them (``row`` ``None``); ``distances`` as many as there are models."""

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


def published_values(board: PublishedBoard, found: Sequence[Comparison]) -> Parsed:
    """``told`` and ``tables``: one for each set of columns that models were run on."""
    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for each in sorted(found, key=lambda each: -each.score):
        groups.setdefault(each.columns, []).append(each)
    return {"description": board.description, "tables": [_table(group[:MOST_MODELS]) for group in groups.values()]}


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
