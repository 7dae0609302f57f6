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
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.runs.paths import write_below
from pytest_bfcl.scoring import aggregate as formulas
from pytest_bfcl.scoring.aggregate import CategoryScore, Term
from pytest_bfcl.scoring.model_info import (
    ModelInfo,
    Usage,
    cost_usd,
    deviation,
    mean,
    percentile95,
)
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


Column: TypeAlias = "Term | Callable[[ModelRow, bool], str]"
"""A formula, or the text of a cell; the second argument is ``official``."""


def cell(column: Column, row: ModelRow, official: bool) -> str:
    """The text of a model's cell."""
    return column(row, official) if callable(column) else percent(_score(column, row, False))


def _always(term: Term) -> Column:
    """A formula that is never ``N/A`` in the reference's arithmetic, where others are if a category is missing."""
    return lambda row, official: percent(_score(term, row, official))


def percent(accuracy: float | None) -> str:
    """A fraction as two-decimal percent, exact ties to even; ``N/A`` for ``None``."""
    return NOT_AVAILABLE if accuracy is None else f"{accuracy * 100:.2f}%"


def number(value: int | float | None) -> str:
    """Shortest text of a number; ``N/A`` for ``None``."""
    return NOT_AVAILABLE if value is None else str(value)


def as_text(cell: str) -> str:
    """A cell with user text, changed so that no spreadsheet reads it as a formula, nor a line break in it as a row."""
    line = " ".join(re.split(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+", cell))
    return f"'{line}" if line.lstrip(" ").startswith(FORMULA_SIGNS) else line


def _score(term: Term, row: ModelRow, official: bool) -> float | None:
    """The score by a formula; only the reference's arithmetic has one where a category is missing."""
    if official:
        return official_value(term, row.scores)
    return None if formulas.missing(term, row.scores) else formulas.value(term, row.scores)


def _claimed(row: ModelRow, official: bool) -> str:
    return NOT_AVAILABLE if row.unclaimed and not official else percent(_score(formulas.OVERALL, row, official))


def _cost(row: ModelRow, official: bool) -> str:
    """By given prices; only the reference's own layout has a price that it assumes for a server."""
    if row.usage is None:
        return NOT_AVAILABLE
    info = row.info
    server = SERVER_USD_PER_HOUR if official and info.gpu_hour is None else info.gpu_hour
    return number(rounded(cost_usd(row.usage, info.input_price, info.output_price, server)))


def _latency(of: Callable[[list[int | float]], int | float | None]) -> Column:
    return lambda row, official: number(of(row.usage.latencies if row.usage else []))


def _format(of: Callable[[FormatScores], float | None], text: Callable[[float | None], str] = number) -> Column:
    return lambda row, official: text(of(row.formats) if row.formats else None)


def _delta(row: ModelRow, official: bool) -> float | None:
    return row.formats.max_delta if row.formats else None


_MODEL: dict[str, Column] = {"Model": lambda row, official: as_text(row.title)}
_FORMATS: dict[str, Column] = {
    "Format Sensitivity Max Delta": _format(lambda formats: formats.max_delta),
    "Format Sensitivity Standard Deviation": _format(lambda formats: formats.deviation),
}
OVERALL: dict[str, Column] = {
    "Overall Acc": _claimed,
    **_MODEL,
    "Model Link": lambda row, official: as_text(row.info.link),
    "Total Cost ($)": _cost,
    "Latency Mean (s)": _latency(lambda values: rounded(mean(values))),
    "Latency Standard Deviation (s)": _latency(lambda values: rounded(deviation(values))),
    "Latency 95th Percentile (s)": _latency(lambda values: rounded_percentile(percentile95(values))),
    "Non-Live AST Acc": formulas.NON_LIVE,
    "Non-Live Simple AST": formulas.SIMPLE,
    "Non-Live Multiple AST": "multiple",
    "Non-Live Parallel AST": "parallel",
    "Non-Live Parallel Multiple AST": "parallel_multiple",
    "Live Acc": _always(formulas.LIVE),
    "Live Simple AST": "live_simple",
    "Live Multiple AST": "live_multiple",
    "Live Parallel AST": "live_parallel",
    "Live Parallel Multiple AST": "live_parallel_multiple",
    "Multi Turn Acc": _always(formulas.MULTI_TURN),
    "Multi Turn Base": "multi_turn_base",
    "Multi Turn Miss Func": "multi_turn_miss_func",
    "Multi Turn Miss Param": "multi_turn_miss_param",
    "Multi Turn Long Context": "multi_turn_long_context",
    "Web Search Acc": formulas.WEB_SEARCH,
    "Web Search Base": "web_search_base",
    "Web Search No Snippet": "web_search_no_snippet",
    "Memory Acc": formulas.MEMORY,
    "Memory KV": "memory_kv",
    "Memory Vector": "memory_vector",
    "Memory Recursive Summarization": "memory_rec_sum",
    "Relevance Detection": formulas.RELEVANCE,
    "Irrelevance Detection": formulas.IRRELEVANCE,
    **_FORMATS,
    "Organization": lambda row, official: as_text(row.info.organisation),
    "License": lambda row, official: as_text(row.info.licence),
}
_NON_LIVE: dict[str, Column] = {
    **_MODEL,
    "Non-Live Overall Acc": _always(formulas.NON_LIVE),
    "AST Summary": formulas.NON_LIVE,
    "Simple AST": formulas.SIMPLE,
    "Python Simple AST": "simple_python",
    "Java Simple AST": "simple_java",
    "JavaScript Simple AST": "simple_javascript",
    "Multiple AST": "multiple",
    "Parallel AST": "parallel",
    "Parallel Multiple AST": "parallel_multiple",
    "Irrelevance Detection": "irrelevance",
}
_LIVE: dict[str, Column] = {
    **_MODEL,
    "Live Overall Acc": _always(formulas.LIVE),
    "AST Summary": formulas.LIVE,
    "Python Simple AST": "live_simple",
    "Python Multiple AST": "live_multiple",
    "Python Parallel AST": "live_parallel",
    "Python Parallel Multiple AST": "live_parallel_multiple",
    "Irrelevance Detection": "live_irrelevance",
    "Relevance Detection": "live_relevance",
}
_MULTI_TURN: dict[str, Column] = {
    **_MODEL,
    "Multi Turn Overall Acc": _always(formulas.MULTI_TURN),
    "Base": "multi_turn_base",
    "Miss Func": "multi_turn_miss_func",
    "Miss Param": "multi_turn_miss_param",
    "Long Context": "multi_turn_long_context",
}
_AGENTIC: dict[str, Column] = {
    **_MODEL,
    "Agentic Overall Acc": _always(formulas.AGENTIC),
    "Web Search Summary": formulas.WEB_SEARCH,
    "Web Search Base": "web_search_base",
    "Web Search No Snippet": "web_search_no_snippet",
    "Memory Summary": formulas.MEMORY,
    "Memory KV": "memory_kv",
    "Memory Vector": "memory_vector",
    "Memory Recursive Summarization": "memory_rec_sum",
}
_SENSITIVITY: dict[str, Column] = {
    **_MODEL,
    **_FORMATS,
    **{
        f"Config {name}": _format(partial(FormatScores.accuracy, configuration=name), percent)
        for name in CONFIGURATIONS
    },
}

TABLES: Mapping[str, tuple[dict[str, Column], Callable[[ModelRow, bool], float | None]]] = {
    "data_overall.csv": (OVERALL, partial(_score, formulas.OVERALL)),
    "data_non_live.csv": (_NON_LIVE, partial(_score, formulas.NON_LIVE)),
    "data_live.csv": (_LIVE, partial(_score, formulas.LIVE)),
    "data_multi_turn.csv": (_MULTI_TURN, partial(_score, formulas.MULTI_TURN)),
    "data_agentic.csv": (_AGENTIC, partial(_score, formulas.AGENTIC)),
    "data_format_sensitivity.csv": (_SENSITIVITY, _delta),
}
"""The six files in the reference's order: columns, and what rows are sorted by (descending, ``None`` last)."""


def table_rows(name: str, models: Sequence[ModelRow], *, official: bool) -> list[list[str]]:
    """Header and rows of a file; ties keep the order of ``models``. Only the reference ranks models without a score."""
    columns, sort = TABLES[name]
    sorted_by = {id(row): None if row.unclaimed and not official else sort(row, official) for row in models}
    ranked = sorted(models, key=lambda row: (sorted_by[id(row)] is None, -(sorted_by[id(row)] or 0.0)))
    rows = [["Rank", *columns]]
    for rank, row in enumerate(ranked, 1):
        place = str(rank) if official or sorted_by[id(row)] is not None else NOT_AVAILABLE
        rows.append([place, *(cell(column, row, official) for column in columns.values())])
    return rows


def csv_texts(models: Sequence[ModelRow], *, official: bool = False) -> dict[str, str]:
    """File name → content of the six files."""
    join = _joined if official else _quoted
    return {name: join(table_rows(name, models, official=official)) for name in TABLES}


def write_csvs(models: Sequence[ModelRow], out: Path, *, official: bool = False) -> list[Path]:
    """Write the six files into ``out`` (created when absent); returns their paths."""
    out.mkdir(parents=True, exist_ok=True)
    texts = csv_texts(models, official=official)
    return [write_below(out, out / name, text.encode("utf-8", "backslashreplace")) for name, text in texts.items()]


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


def official_value(term: Term, scores: Mapping[str, CategoryScore]) -> float:
    """The formula with the reference's arithmetic: a missing category counts as 0 with its full size."""
    zeros = {name: CategoryScore(0.0, CATEGORIES[name].official_size) for name in GROUPS["all_scoring"]}
    found = formulas.value(term, {name: scores.get(name) or zero for name, zero in zeros.items()})
    return 0.0 if found is None else found
