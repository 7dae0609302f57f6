"""Published rows next to measured models, as values of the template ``published.html.jinja`` and as a section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.boards import TEMPLATES
from pytest_bfcl.extensions.boards.published import (
    COLUMNS,
    Beside,
    Comparison,
    PublishedBoard,
    Shown,
    counts_of,
    kept,
)
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.reporting.rendering import environment, percent, span
from pytest_bfcl.reporting.sources import Section
from pytest_bfcl.reporting.tables import Cell, Table
from pytest_bfcl.scoring.statistics import Interval, interval
from pytest_bfcl.scoring.summary import plain_records

if TYPE_CHECKING:
    from pytest_bfcl.runs.directory import RunDirectory

MOST_MODELS = 6
"""Measured models with a column of distances."""
HEAD = ("published rank", "model", "organisation", "score", "published overall")


def published_values(shown: Shown) -> Parsed:
    """``description``, ``marks`` and ``tables``: one for each set of the models' columns."""
    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for each in sorted(shown.comparisons, key=lambda each: -each.score):
        groups.setdefault(each.columns, []).append(each)
    tables = [_table(group[:MOST_MODELS]) for group in groups.values()]
    return {"description": shown.board.description, "marks": shown.marks, "tables": tables}


def _table(group: Sequence[Comparison]) -> tuple[str, Table]:
    """Measured models over the same columns, and the published rows, best first; what the score is of."""
    first = group[0]
    if first.complete:
        basis = "The overall score, with today's weights."
    else:
        basis = f"Over {len(first.columns)} of {len(COLUMNS)} columns, weights rescaled: {', '.join(first.columns)}."
    lines = [(each.score, each.model, _measured(each, len(group))) for each in group]
    for distances in zip(*(each.rows for each in group), strict=True):  # rows over the same columns, in the same order
        lines.append((distances[0].score, distances[0].row.name, _published(distances)))
    measured = {each.model for each in group}
    lines.sort(key=lambda line: (-line[0], line[1] not in measured, line[1]))
    head = (*HEAD, *(f"{each.model} is away" for each in group))
    rows = [cells for *_, cells in lines]
    return basis, Table(head, rows, (1, 2), ["group" if row[0] == "–" else "" for row in rows])


def _measured(each: Comparison, models: int) -> tuple[str | Cell, ...]:
    score = _score(each.score, interval(each.score, each.spread))
    return ("–", Cell(each.model, beside=["measured here"]), "", score, "–", *([""] * models))


def _published(distances: Sequence[Beside]) -> tuple[str | Cell, ...]:
    first = distances[0]
    row = first.row
    return (
        Cell("" if row.rank is None else str(row.rank), row.rank),
        Cell(row.name, href=row.link, beside=["published, not measured here"]),
        row.organisation,
        _score(first.score, first.interval),
        Cell(percent(row.overall, 2), row.overall),
        *(
            Cell(f"{100 * each.difference:+.1f}", beside=[span(each.interval95, -1) + (" tie" if each.tie else "")])
            for each in distances
        ),
    )


def _score(value: float, bounds: Interval) -> Cell:
    return Cell(percent(value, 2), value, below=[span(bounds)])


def published(run: RunDirectory, lines: Sequence[Fields]) -> Section | None:
    """The section of a run with a table. Raises `UsageError` if it is damaged."""
    board = kept(run.path)
    return None if board is None else section_of(board, run)


def section_of(board: PublishedBoard, run: RunDirectory) -> Section:
    """A report's section: a table next to the models of a run."""
    values = published_values(board.beside([(run.fingerprint, counts_of(plain_records(run)))]))
    tables: Any = environment(TEMPLATES).get_template("published.html.jinja").module
    return Section("published", "Published", tables.tables(values))
