"""A confined process reaches nothing, and a statement only reads the tables it was given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_bfcl.confined.tables import query

ROOT = Path(__file__).parents[2]
REACHES = """
import sys
sys.path.insert(0, sys.argv[1])
from pytest_bfcl.confined.limits import confine
import os, socket
confine(2**29)
def tried(what, act):
    try:
        act()
        print(what, "WORKED")
    except BaseException as error:
        print(what, type(error).__name__)
tried("open", lambda: open("/etc/hostname"))
tried("write", lambda: open(sys.argv[1] + "/never", "w"))
tried("system", lambda: os.system("true"))
tried("fork", lambda: os.fork())
tried("socket", lambda: socket.socket())
tried("listdir", lambda: os.listdir("/"))
tried("import", lambda: __import__("ctypes"))
tried("exec", lambda: getattr(__builtins__, "ex" + "ec")("1"))
tried("memory", lambda: bytearray(2 * 1024**3))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other systems differ")
def test_a_confined_process_reaches_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", REACHES, str(ROOT)], capture_output=True, text=True, timeout=60, check=False
    )
    found = dict(line.split() for line in done.stdout.splitlines())
    assert found.pop("memory") == "MemoryError"
    assert len(found) == 8
    assert set(found.values()) == {"PermissionError"}


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
