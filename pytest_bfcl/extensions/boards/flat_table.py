"""Runs as one flat table, a row for every entry and request, as Parquet or CSV (docs/contracts.md, "Tables").

Data frames and databases read it directly, unlike the nested ``results.jsonl``. Rows stream, so a run of any size needs
little memory.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_bfcl import extras
from pytest_bfcl.dataset.categories import CATEGORIES, groups_of
from pytest_bfcl.extensions.boards.official_csv import as_text
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import cut
from pytest_bfcl.reporting.chat import StepFields, turns_of
from pytest_bfcl.runs.lines import staged

if TYPE_CHECKING:
    from pytest_bfcl.runs.fingerprint import Fingerprint

Value = str | int | float | None
Row = dict[str, Value]
Kind = Literal["text", "int", "float"]

BATCH = 2_000
"""Rows of one row group."""
LONGEST_CELL = 32_000
"""Most characters of a CSV cell, the limit of spreadsheets. Parquet has the whole text."""
LARGEST = 2**53


class Column(NamedTuple):
    """A column and its content; ``step``: the field of a result line that has a value for each step, if it is one."""

    name: str
    kind: Kind
    words: str
    step: str = ""


COLUMNS = (
    Column("run", "text", "the run as it was named"),
    Column("data", "text", "data set"),
    Column("data_version", "text", "its version"),
    Column("run_started_at", "text", "when the run began"),
    Column("model", "text", "model as the results name it"),
    Column("mode", "text", "`fc` or `prompt`"),
    Column("id", "text", "entry"),
    Column("category", "text", "its category"),
    Column("group", "text", "the first group of the category"),
    Column("repeat", "int", "from 1"),
    Column("turn", "int", "from 1; single-turn entries have one"),
    Column("step", "int", "reply within the turn, from 1"),
    Column("request", "int", "reply within the entry, from 1: `request = 1` is one row an entry"),
    Column("requests", "int", "replies of the entry; 0 without any (then one row, without a reply)"),
    Column("outcome", "text", "of the entry, like the next five"),
    Column("tag", "text", ""),
    Column("reason", "text", ""),
    Column("corrected_outcome", "text", ""),
    Column("corrected_reason", "text", ""),
    Column("verified_outcome", "text", "the outcome on verified data, `excluded` included; official data only"),
    Column("failed_turn", "int", "the turn that decided, from 1"),
    Column("text", "text", "the reply, where it is text"),
    Column("reasoning", "text", "kept apart from the text", "reasoning"),
    Column("calls", "text", "the calls as JSON: native ones as sent, else as decoded"),
    Column("call_count", "int", "how many"),
    Column("tool_results", "text", "their results as JSON, if calls are executed"),
    Column("finish_reason", "text", "", "finish_reasons"),
    Column(
        "problem",
        "text",
        "`length`, `content_filter`, `context_overflow`, `nothing_said` or `malformed_call`",
        "problems",
    ),
    Column("attempts", "int", "requests sent for this reply", "attempts"),
    Column("input_tokens", "int", "", "input_tokens"),
    Column("output_tokens", "int", "", "output_tokens"),
    Column("reasoning_tokens", "int", "the part of `output_tokens` that went into reasoning", "reasoning_tokens"),
    Column("latency_s", "float", "of the attempt that succeeded", "latency_s"),
    Column("first_token_s", "float", "streamed replies only", "first_token_s"),
    Column("entry_cost_usd", "float", "of the whole entry, in its first row only, so that a sum is right"),
    Column("entry_duration_s", "float", "likewise"),
)  # fmt: skip
NAMES = tuple(column.name for column in COLUMNS)


def rows_of(run: str, lines: Iterable[Fields], known: Fingerprint | None = None) -> Iterator[Row]:
    """The rows of a run, in the order of its lines; ``known``: what it measured, if known."""
    about: Row = {
        "run": run,
        "data": known.dataset if known else None,
        "data_version": known.dataset_version if known else None,
        "run_started_at": known.started_at if known else None,
    }
    for line in lines:
        yield from _entry_rows(line, about)


def _entry_rows(line: Fields, about: Row) -> Iterator[Row]:
    fields = StepFields(line)
    category = str(line.get("category") or "")
    turns = turns_of(line.get("output"), fields.nested)
    places = [(turn, step, reply) for turn, replies in enumerate(turns) for step, reply in enumerate(replies)]
    detail = line.get("detail")
    turn = detail.get("turn") if isinstance(detail, Mapping) else None
    groups = groups_of(category) if category in CATEGORIES else ()
    entry: Row = {
        **about,
        **{name: _text(line.get(name)) for name in ("model", "mode", "id", "outcome", "tag", "reason")},
        **{name: _text(line.get(name)) for name in ("corrected_outcome", "corrected_reason", "verified_outcome")},
        "category": category,
        "group": groups[0] if groups else None,
        "repeat": _whole(line.get("repeat")) or 1,
        "requests": len(places),
        "failed_turn": turn + 1 if type(turn) is int and turn < LARGEST else None,
    }
    once: Row = {"entry_cost_usd": _number(line.get("cost_usd")), "entry_duration_s": _number(line.get("duration_s"))}
    if not places:
        yield {**entry, **once, "request": 1}
    for number, (turn_number, step, reply) in enumerate(places, 1):
        here = _reply(fields, turn_number, step, reply)
        yield {**entry, **here, "request": number, **(once if number == 1 else {})}


def _reply(fields: StepFields, turn: int, step: int, reply: object) -> Row:
    """The columns of one reply."""
    row: Row = {"turn": turn + 1, "step": step + 1, "text": reply if isinstance(reply, str) else None}
    for column in COLUMNS:
        if column.step:
            row[column.name] = _READ[column.kind](fields.at(column.step, turn, step))
    calls = reply if isinstance(reply, list) else fields.at("calls", turn, step)
    if isinstance(calls, list):
        row["calls"], row["call_count"] = _json(calls), len(calls)
    results = fields.at("tool_results", turn, step)
    row["tool_results"] = _json(results) if isinstance(results, list) else None
    return row


def _text(value: object) -> str | None:
    return None if value is None else value if isinstance(value, str) else _json(value)


def _number(value: object) -> float | None:
    """A number for any program; none for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        return None
    return float(value) if math.isfinite(value) else None


def _whole(value: object) -> int | None:
    found = _number(value)
    return None if found is None else int(found)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(value)[:LONGEST_CELL]


_READ: Mapping[Kind, Callable[[object], Value]] = {"text": _text, "int": _whole, "float": _number}


def write_table(path: Path, rows: Iterable[Row]) -> int:
    """Write the rows of runs to one ``.parquet`` or ``.csv``; returns their number.

    Raises `UsageError` for another suffix, a place that cannot be written, or Parquet without pyarrow.
    """
    writers = {".parquet": _write_parquet, ".csv": _write_csv}
    write = writers.get(path.suffix.lower())
    if write is None:
        raise UsageError(f"{path}: a table is a .parquet or a .csv")
    if write is _write_parquet:
        extras.require("tables", "a Parquet table")
    try:
        with staged(path) as beside:
            return write(beside, rows)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def _write_csv(path: Path, rows: Iterable[Row]) -> int:
    """Texts as cells that no spreadsheet reads as a formula, on one line each, at most `LONGEST_CELL` characters."""
    count = 0
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(NAMES)
        for row in rows:
            writer.writerow([_cell(row.get(name)) for name in NAMES])
            count += 1
    return count


def _cell(value: Value) -> Value:
    return cut(as_text(str(_plain(value)).replace("\x00", "\\x00")), LONGEST_CELL) if isinstance(value, str) else value


def _write_parquet(path: Path, rows: Iterable[Row]) -> int:
    import pyarrow
    from pyarrow import parquet

    types = {"text": pyarrow.string(), "int": pyarrow.int64(), "float": pyarrow.float64()}
    schema = pyarrow.schema([(column.name, types[column.kind]) for column in COLUMNS])
    count = 0
    rows = iter(rows)
    made: AbstractContextManager[Any] = parquet.ParquetWriter(path, schema, compression="zstd")
    with made as writer:
        while batch := list(islice(rows, BATCH)):
            columns = [pyarrow.array([_plain(row.get(c.name)) for row in batch], types[c.kind]) for c in COLUMNS]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
            count += len(batch)
    return count


def _plain(value: Value) -> Value:
    """Text that is UTF-8: unpaired surrogates become escapes."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
