"""The six leaderboard files (scoring spec §6).

``official=True`` writes them byte for byte like the reference: no quoting, missing categories count as zero. Otherwise
the columns are equal, fields are quoted if needed, and a value with a missing category is ``N/A``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.runs.paths import write_below
from pytest_bfcl.scoring import aggregate as formulas
from pytest_bfcl.scoring.aggregate import CategoryScore, Term
from pytest_bfcl.scoring.cost import (
    Usage,
    cost_usd,
    deviation,
    mean,
    percentile95,
)
from pytest_bfcl.scoring.model_info import ModelInfo
from pytest_bfcl.scoring.tally import CONFIGURATIONS, FormatScores

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that begin a formula in spreadsheets, full-width forms included."""
NOT_AVAILABLE = "N/A"
SERVER_USD_PER_HOUR = 23.92
"""Hourly price of the eight-GPU server that the reference assumes for models without a price."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model's numbers. ``usage`` is ``None`` for scores read from files. ``unclaimed`` says why no score is
    claimed; outside the reference's arithmetic it then has no rank and no overall score.
    """

    info: ModelInfo
    scores: Mapping[str, CategoryScore]
    formats: FormatScores | None = None
    usage: Usage | None = field(default=None)
    trained_on: int = 0
    """Entries among these that the model was trained on."""
    unclaimed: str = ""

    @property
    def title(self) -> str:
        """The model's name, marked if it was trained on the scored entries."""
        return (
            f"{self.info.name} [trained on {self.trained_on} of these entries]" if self.trained_on else self.info.name
        )


Cell = Callable[[ModelRow], str]
Column = tuple[str, Cell]


def percent(accuracy: float | None) -> str:
    """A fraction as two-decimal percent, exact ties to even; ``N/A`` for ``None``."""
    return NOT_AVAILABLE if accuracy is None else f"{accuracy * 100:.2f}%"


def number(value: int | float | None) -> str:
    """Shortest text of a number; ``N/A`` for ``None``."""
    return NOT_AVAILABLE if value is None else str(value)


class Table:
    """One leaderboard file: its name, columns, and what its rows are sorted by (descending, ``None`` last)."""

    def __init__(
        self, name: str, columns: Sequence[Column], sort: Callable[[ModelRow], float | None], always_ranked: bool
    ) -> None:
        self.name = name
        self.columns = columns
        self.sort = sort
        self.always_ranked = always_ranked

    def rows(self, models: Iterable[ModelRow]) -> list[list[str]]:
        """Header and rows as texts; ties keep the order of ``models``. Only the reference ranks models without a
        score."""
        ranked = sorted(models, key=lambda row: _descending(self._sorted_by(row)))
        header = ["Rank", *(name for name, _ in self.columns)]
        rows = [header]
        for rank, row in enumerate(ranked, 1):
            place = str(rank) if self.always_ranked or self._sorted_by(row) is not None else NOT_AVAILABLE
            rows.append([place, *(cell(row) for _, cell in self.columns)])
        return rows

    def _sorted_by(self, row: ModelRow) -> float | None:
        return None if row.unclaimed and not self.always_ranked else self.sort(row)


def as_text(cell: str) -> str:
    """A cell with a foreign text, which no spreadsheet reads as a formula, and whose line breaks are no rows."""
    line = " ".join(re.split(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+", cell))
    return f"'{line}" if line.lstrip(" ").startswith(FORMULA_SIGNS) else line


def _descending(value: float | None) -> tuple[bool, float]:
    return (value is None, -(value or 0.0))


def tables(*, official: bool) -> list[Table]:
    """The six files in the reference's order."""
    of = _Values(official)
    return [
        Table("data_overall.csv", _overall(of), of.never(formulas.OVERALL), official),
        Table("data_non_live.csv", _non_live(of), of.never(formulas.NON_LIVE), official),
        Table("data_live.csv", _live(of), of.never(formulas.LIVE), official),
        Table("data_multi_turn.csv", _multi_turn(of), of.never(formulas.MULTI_TURN), official),
        Table("data_agentic.csv", _agentic(of), of.never(formulas.AGENTIC), official),
        Table("data_format_sensitivity.csv", _formats(), _delta, official),
    ]


def _delta(row: ModelRow) -> float | None:
    return row.formats.max_delta if row.formats else None


class _Values:
    """Cells of formulas: ``full`` is N/A if a category is missing, ``always`` is never N/A in official mode."""

    def __init__(self, official: bool) -> None:
        self.official = official

    def never(self, term: Term) -> Callable[[ModelRow], float | None]:
        def compute(row: ModelRow) -> float | None:
            if self.official:
                return official_value(term, row.scores)
            return None if formulas.missing(term, row.scores) else formulas.value(term, row.scores)

        return compute

    def always(self, term: Term) -> Cell:
        compute = self.never(term)
        return lambda row: percent(compute(row))

    def claimed(self, term: Term) -> Cell:
        show = self.always(term)
        return lambda row: NOT_AVAILABLE if row.unclaimed and not self.official else show(row)

    def full(self, term: Term) -> Cell:
        def show(row: ModelRow) -> str:
            return NOT_AVAILABLE if formulas.missing(term, row.scores) else percent(formulas.value(term, row.scores))

        return show

    def cost(self, row: ModelRow) -> str:
        """By given prices; only the reference's own layout assumes a price for a server."""
        if row.usage is None:
            return NOT_AVAILABLE
        info = row.info
        server = SERVER_USD_PER_HOUR if self.official and info.gpu_hour is None else info.gpu_hour
        return number(rounded(cost_usd(row.usage, info.input_price, info.output_price, server)))


def _overall(of: _Values) -> list[Column]:
    return [
        ("Overall Acc", of.claimed(formulas.OVERALL)),
        ("Model", lambda row: as_text(row.title)),
        ("Model Link", lambda row: as_text(row.info.link)),
        ("Total Cost ($)", of.cost),
        ("Latency Mean (s)", lambda row: number(rounded(mean(_latencies(row))))),
        ("Latency Standard Deviation (s)", lambda row: number(rounded(deviation(_latencies(row))))),
        ("Latency 95th Percentile (s)", lambda row: number(rounded_percentile(percentile95(_latencies(row))))),
        ("Non-Live AST Acc", of.full(formulas.NON_LIVE)),
        ("Non-Live Simple AST", of.full(formulas.SIMPLE)),
        ("Non-Live Multiple AST", of.full("multiple")),
        ("Non-Live Parallel AST", of.full("parallel")),
        ("Non-Live Parallel Multiple AST", of.full("parallel_multiple")),
        ("Live Acc", of.always(formulas.LIVE)),
        ("Live Simple AST", of.full("live_simple")),
        ("Live Multiple AST", of.full("live_multiple")),
        ("Live Parallel AST", of.full("live_parallel")),
        ("Live Parallel Multiple AST", of.full("live_parallel_multiple")),
        ("Multi Turn Acc", of.always(formulas.MULTI_TURN)),
        ("Multi Turn Base", of.full("multi_turn_base")),
        ("Multi Turn Miss Func", of.full("multi_turn_miss_func")),
        ("Multi Turn Miss Param", of.full("multi_turn_miss_param")),
        ("Multi Turn Long Context", of.full("multi_turn_long_context")),
        ("Web Search Acc", of.full(formulas.WEB_SEARCH)),
        ("Web Search Base", of.full("web_search_base")),
        ("Web Search No Snippet", of.full("web_search_no_snippet")),
        ("Memory Acc", of.full(formulas.MEMORY)),
        ("Memory KV", of.full("memory_kv")),
        ("Memory Vector", of.full("memory_vector")),
        ("Memory Recursive Summarization", of.full("memory_rec_sum")),
        ("Relevance Detection", of.full(formulas.RELEVANCE)),
        ("Irrelevance Detection", of.full(formulas.IRRELEVANCE)),
        ("Format Sensitivity Max Delta", _max_delta),
        ("Format Sensitivity Standard Deviation", _format_deviation),
        ("Organization", lambda row: as_text(row.info.organisation)),
        ("License", lambda row: as_text(row.info.licence)),
    ]


def _non_live(of: _Values) -> list[Column]:
    return [
        ("Model", lambda row: as_text(row.title)),
        ("Non-Live Overall Acc", of.always(formulas.NON_LIVE)),
        ("AST Summary", of.full(formulas.NON_LIVE)),
        ("Simple AST", of.full(formulas.SIMPLE)),
        ("Python Simple AST", of.full("simple_python")),
        ("Java Simple AST", of.full("simple_java")),
        ("JavaScript Simple AST", of.full("simple_javascript")),
        ("Multiple AST", of.full("multiple")),
        ("Parallel AST", of.full("parallel")),
        ("Parallel Multiple AST", of.full("parallel_multiple")),
        ("Irrelevance Detection", of.full("irrelevance")),
    ]


def _live(of: _Values) -> list[Column]:
    return [
        ("Model", lambda row: as_text(row.title)),
        ("Live Overall Acc", of.always(formulas.LIVE)),
        ("AST Summary", of.full(formulas.LIVE)),
        ("Python Simple AST", of.full("live_simple")),
        ("Python Multiple AST", of.full("live_multiple")),
        ("Python Parallel AST", of.full("live_parallel")),
        ("Python Parallel Multiple AST", of.full("live_parallel_multiple")),
        ("Irrelevance Detection", of.full("live_irrelevance")),
        ("Relevance Detection", of.full("live_relevance")),
    ]


def _multi_turn(of: _Values) -> list[Column]:
    return [
        ("Model", lambda row: as_text(row.title)),
        ("Multi Turn Overall Acc", of.always(formulas.MULTI_TURN)),
        ("Base", of.full("multi_turn_base")),
        ("Miss Func", of.full("multi_turn_miss_func")),
        ("Miss Param", of.full("multi_turn_miss_param")),
        ("Long Context", of.full("multi_turn_long_context")),
    ]


def _agentic(of: _Values) -> list[Column]:
    return [
        ("Model", lambda row: as_text(row.title)),
        ("Agentic Overall Acc", of.always(formulas.AGENTIC)),
        ("Web Search Summary", of.full(formulas.WEB_SEARCH)),
        ("Web Search Base", of.full("web_search_base")),
        ("Web Search No Snippet", of.full("web_search_no_snippet")),
        ("Memory Summary", of.full(formulas.MEMORY)),
        ("Memory KV", of.full("memory_kv")),
        ("Memory Vector", of.full("memory_vector")),
        ("Memory Recursive Summarization", of.full("memory_rec_sum")),
    ]


def _formats() -> list[Column]:
    def configuration(name: str) -> Column:
        return (f"Config {name}", lambda row: percent(row.formats.accuracy(name) if row.formats else None))

    return [
        ("Model", lambda row: as_text(row.title)),
        ("Format Sensitivity Max Delta", _max_delta),
        ("Format Sensitivity Standard Deviation", _format_deviation),
        *(configuration(name) for name in CONFIGURATIONS),
    ]


def _latencies(row: ModelRow) -> list[int | float]:
    return row.usage.latencies if row.usage else []


def _max_delta(row: ModelRow) -> str:
    return number(row.formats.max_delta if row.formats else None)


def _format_deviation(row: ModelRow) -> str:
    return number(row.formats.deviation if row.formats else None)


def csv_texts(models: Sequence[ModelRow], *, official: bool = False) -> dict[str, str]:
    """File name → content of the six files."""
    join = _joined if official else _quoted
    return {table.name: join(table.rows(models)) for table in tables(official=official)}


def write_csvs(models: Sequence[ModelRow], out: Path, *, official: bool = False) -> list[Path]:
    """Write the six files into ``out`` (created when absent); returns their paths."""
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in csv_texts(models, official=official).items():
        path = out / name
        paths.append(write_below(out, path, text.encode("utf-8", "backslashreplace")))
    return paths


def _joined(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(",".join(row) for row in rows)


def _quoted(rows: Iterable[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


# The reference's arithmetic.


def rounded(value: int | float | None) -> int | float | None:
    """Two decimals, nearest to the exact double: cost, mean and deviation."""
    return None if value is None else round(value, 2)


def rounded_percentile(value: float | None) -> float | None:
    """Two decimals by way of the product with 100 in double precision: the percentile only."""
    return None if value is None else round(value * 100) / 100


def with_zeros(scores: Mapping[str, CategoryScore], sizes: Mapping[str, int] | None = None) -> dict[str, CategoryScore]:
    """The reference's reading: a missing category counts as 0 with its full size."""
    sizes = sizes or {name: row.official_size for name, row in CATEGORIES.items()}
    return {name: scores.get(name) or CategoryScore(0.0, sizes[name]) for name in GROUPS["all_scoring"]}


def official_value(term: Term, scores: Mapping[str, CategoryScore], sizes: Mapping[str, int] | None = None) -> float:
    """The formula with the reference's arithmetic; missing categories count as zero."""
    found = formulas.value(term, with_zeros(scores, sizes))
    return 0.0 if found is None else found
