"""How certain a ranking is: intervals of ranks, ties, deciding entries between neighbours.

Every pair of models is compared entry by entry with the clusters and degrees of freedom of `spread_of`. A model's
rank is certain except for models that are not separated from it. Its interval goes from one more than the clearly
better ones to the number of not clearly worse ones (M. Mogstad, J. P. Romano, A. Shaikh, D. Wilhelm, Inference for
Ranks, Review of Economic Studies 91, 2024), with Holm's correction for the comparisons of one model, so that it
contains the true rank in 95 % of cases. Published rows stand next to measured models in a section of the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
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
from pytest_bfcl.scoring.aggregate import OVERALL, Term, category_weights
from pytest_bfcl.scoring.comparison_rows import pair_tallies, pairs_of
from pytest_bfcl.scoring.measurements import Judged, Key
from pytest_bfcl.scoring.statistics import Interval, chance, holm, interval, spread_of
from pytest_bfcl.scoring.summary import plain_records

if TYPE_CHECKING:
    from pytest_bfcl.runs.directory import RunDirectory


Verdicts = Mapping[Key, Judged]

SIGNIFICANT = 0.05
MOST = 40
"""Most models for which all pairs are compared; with more, only neighbours are."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models over their common judged entries; the difference is the first's score minus the second's.

    ``only_first`` and ``only_second``: entries that only one passes, largest weight first.
    """

    first: str
    second: str
    difference: float
    interval95: Interval
    chance: float
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    @property
    def tie(self) -> bool:
        """Whether the difference is within the noise."""
        return self.interval95[0] <= 0 <= self.interval95[1]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Models in the order of their scores, the rank interval of each, and neighbours compared.

    ``ranks`` is empty for more than `MOST` models.
    """

    order: tuple[str, ...]
    ranks: Mapping[str, tuple[int, int]]
    neighbours: tuple[Pair, ...]


def ranking(models: Mapping[str, Verdicts], order: Sequence[str], score: Term = OVERALL) -> Ranking:
    """The ranking of ``order`` (best first) by a score over the categories that two models share, and its certainty."""
    wanted = list(combinations(order, 2)) if len(order) <= MOST else list(pairwise(order))
    pairs = {(a, b): compared(a, models[a], b, models[b], score) for a, b in wanted}
    ranks = {name: _rank_interval(name, order, pairs) for name in order} if len(order) <= MOST else {}
    return Ranking(tuple(order), ranks, tuple(pairs[pair] for pair in pairwise(order)))


def compared(first: str, one: Verdicts, second: str, other: Verdicts, score: Term) -> Pair:
    """Two models, entry by entry."""
    pairs = pairs_of(other, one)
    tallies = pair_tallies(pairs)
    weights = category_weights(score, {name: tally.total for name, tally in tallies.items()})
    difference = sum(weight * tallies[name].mean for name, weight in weights.items())
    spread = spread_of(weights, tallies)

    worth = {name: weight / tallies[name].total for name, weight in weights.items()}
    apart = [mine for theirs, mine, _ in pairs if mine.passed is not theirs.passed and mine.category in worth]
    apart.sort(key=lambda judged: (-worth[judged.category], judged.id))
    only_first, only_second = (dict.fromkeys(j.id for j in apart if j.passed is passed) for passed in (True, False))
    return Pair(
        first, second, difference, interval(difference, spread, -1.0, 1.0), chance(difference, spread),
        tuple(only_first), tuple(only_second),
    )  # fmt: skip


def _rank_interval(name: str, order: Sequence[str], pairs: Mapping[tuple[str, str], Pair]) -> tuple[int, int]:
    against: dict[str, tuple[float, float]] = {}
    for (first, second), pair in pairs.items():
        if name in (first, second):
            other, ahead = (second, pair.difference) if name == first else (first, -pair.difference)
            against[other] = (ahead, pair.chance)
    adjusted = holm({other: found for other, (_, found) in against.items()})
    clear = {other: against[other][0] for other, value in adjusted.items() if value < SIGNIFICANT}
    better = sum(ahead < 0 for ahead in clear.values())
    worse = sum(ahead > 0 for ahead in clear.values())
    return 1 + better, len(order) - worse


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
