"""A statement only reads the tables it was given."""

from __future__ import annotations

import pytest

from pytest_bfcl.extensions.sql import query

TABLES = {
    "books": {"columns": ["id INTEGER", "title TEXT", "price REAL"], "rows": [[1, "Lanterns", 18.0], [2, "Tides", 9.5]]}
}
STATEMENTS = [
    "DELETE FROM books", "UPDATE books SET price = 0", "INSERT INTO books VALUES (9, 'x', 1)", "DROP TABLE books",
    "CREATE TABLE t (a)", "CREATE TEMP TABLE t (a)", "ALTER TABLE books ADD COLUMN x", "ATTACH ':memory:' AS other",
    "PRAGMA table_info(books)", "SELECT * FROM pragma_table_info('books')", "SELECT load_extension('bfcl-stolen.so')",
    "SELECT * FROM sqlite_master", "SELECT randomblob(1000000)", "SELECT zeroblob(1000000000)", "SELECT date('now')",
    "SELECT 1; DELETE FROM books", "VACUUM", "VACUUM INTO 'bfcl-stolen.db'", "BEGIN", "ANALYZE",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c", "", ";", "\x00",
    "SELECT count(*) FROM " + ", ".join(f"books b{i}" for i in range(30)), "SELECT '" + "x" * 200_000 + "'",
    "SELECT " + "(" * 500 + "1" + ")" * 500, "SELECT writefile('bfcl-stolen.txt', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT replace(replace('" + "a" * 400 + "', 'a', '" + "b" * 400 + "'), 'b', 'cccccccccc')",
]  # fmt: skip
"""Refused, or stopped by a limit."""


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_that_do_more_are_refused(statement: str) -> None:
    assert query(TABLES, statement).kind in ("refused", "limit", "raised")
