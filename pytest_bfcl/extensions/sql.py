"""One statement on a fresh in-memory SQLite database with the entry's tables: read-only, bounded, gone afterwards.

Tables: ``{name: {"columns": ["id INTEGER", …], "rows": [[…], …]}}``. A statement may only read these tables and call
the listed functions; the authoriser refuses everything else (writing, ATTACH, PRAGMA, recursion, extensions).
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_bfcl.json_types import Fields

KINDS = ("unknown_function", "arguments", "raised", "limit", "refused", "not_recorded")
"""Kinds of errors: unknown function; unusable arguments; refused by the function; time, memory or size exceeded; a
forbidden statement or address; no recording of a network call."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A JSON-able ``value``, or ``error`` (a text for users) of one of `KINDS`."""

    value: Any = None
    error: str | None = None
    kind: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.error is None

    def text(self) -> str:
        """Its form in a transcript: ``{"result": …}`` or ``{"error": …, "kind": …}``."""
        fields = {"result": self.value} if self.error is None else {"error": self.error, "kind": self.kind}
        return json.dumps(fields)

    @classmethod
    def from_text(cls, text: str) -> Outcome:
        """The inverse of `text`. Raises `ValueError` for anything else."""
        try:
            fields = json.loads(text)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        if not isinstance(fields, dict) or ("result" in fields) == ("error" in fields):
            raise ValueError("not the outcome of a call")
        if "error" in fields:
            return cls(None, str(fields["error"]), str(fields.get("kind") or "raised"))
        return cls(fields["result"])


MOST_ROWS = 5_000
MOST_TABLES = 200
MOST_STEPS = 50
STEP = 100_000
"""Instructions of SQLite's machine between two checks of the clock, and the number of checks for a statement."""
MOST_CELL = 100_000
"""Bytes of one value or statement."""

FUNCTIONS = frozenset(
    {
        "abs", "avg", "coalesce", "count", "ifnull", "iif", "instr", "length", "like", "lower", "ltrim", "max", "min",
        "nullif", "replace", "round", "rtrim", "sign", "substr", "substring", "sum", "total", "trim", "typeof",
        "upper", "glob",
    }
)  # fmt: skip
"""Functions that a statement may call: nothing random, nothing that depends on the time."""


def query(tables: Fields, statement: str) -> Outcome:
    """The result of one statement as ``{"columns": [name, …], "rows": [[…], …]}``, or its error."""
    if not isinstance(statement, str) or len(statement) > MOST_CELL:
        return Outcome(error="the statement is no text, or too long", kind="refused")
    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _fill(database, tables)
        return _run(database, statement)
    finally:
        database.close()


def query_file(path: Path, statement: str) -> Outcome:
    """The same on an untrusted database file, which is only read."""
    try:
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        return Outcome(error=f"SQLite: {error}"[:300], kind="raised")
    try:
        return _run(database, statement)
    finally:
        database.close()


def all_tables(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every table of a database file, up to `MOST_ROWS` each; none for other files."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    with contextlib.suppress(sqlite3.Error):
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
        with contextlib.closing(database):
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            for (name,) in names.fetchmany(MOST_TABLES):
                found[str(name)] = database.execute(f"SELECT * FROM {_quoted(name)}").fetchmany(MOST_ROWS)
    return found


def _fill(database: sqlite3.Connection, tables: Fields) -> None:
    for name, table in tables.items():
        columns = list(table["columns"])
        database.execute(f"CREATE TABLE {_quoted(name)} ({', '.join(_column(each) for each in columns)})")
        places = ", ".join("?" * len(columns))
        database.executemany(f"INSERT INTO {_quoted(name)} VALUES ({places})", table["rows"])


def _run(database: sqlite3.Connection, statement: str) -> Outcome:
    refused: list[str] = []
    looks = iter(range(MOST_STEPS))

    def allowed(action: int, first: str | None, second: str | None, *_: Any) -> int:
        fine = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
        if action == sqlite3.SQLITE_READ:
            fine = not str(first).lower().startswith(("sqlite_", "pragma_"))
        if action == sqlite3.SQLITE_FUNCTION:
            fine = str(second).lower() in FUNCTIONS
        if not fine:
            refused.append(f"{_ACTIONS.get(action, action)} {second or first or ''}".strip())
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    for category in (sqlite3.SQLITE_LIMIT_LENGTH, sqlite3.SQLITE_LIMIT_SQL_LENGTH):
        database.setlimit(category, MOST_CELL)
    for category, value in (
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0), (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100),
        (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 20), (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200),
    ):  # fmt: skip
        database.setlimit(category, value)
    database.set_authorizer(allowed)
    database.set_progress_handler(lambda: next(looks, None) is None, STEP)
    try:
        cursor = database.execute(statement)
        rows = cursor.fetchmany(MOST_ROWS + 1)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        if refused:
            return Outcome(error=f"refused: {refused[0]}"[:300], kind="refused")
        kind = "limit" if "interrupted" in str(error) or "too big" in str(error) else "raised"
        return Outcome(error=f"SQLite: {error}"[:300], kind=kind)
    if cursor.description is None:
        return Outcome(error="the statement gives no rows", kind="refused")
    if len(rows) > MOST_ROWS:
        return Outcome(error=f"more than {MOST_ROWS} rows", kind="limit")
    return Outcome(
        {
            "columns": [str(column[0]) for column in cursor.description],
            "rows": [[_cell(value) for value in row] for row in rows],
        }
    )


def _cell(value: object) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _column(text: str) -> str:
    """``name TYPE`` with the name quoted."""
    name, _, kind = str(text).partition(" ")
    return f"{_quoted(name)} {kind}" if kind.isalpha() else _quoted(name)


_ACTIONS = {
    getattr(sqlite3, f"SQLITE_{name}"): name
    for name in (
        "FUNCTION", "ATTACH", "DETACH", "PRAGMA", "INSERT", "UPDATE", "DELETE", "CREATE_TABLE", "CREATE_INDEX",
        "DROP_TABLE", "ALTER_TABLE", "CREATE_VIEW", "CREATE_TRIGGER", "TRANSACTION", "RECURSIVE", "READ",
        "CREATE_TEMP_TABLE", "CREATE_VTABLE", "ANALYZE", "REINDEX", "SAVEPOINT",
    )
}  # fmt: skip
