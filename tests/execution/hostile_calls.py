"""Calls that a hostile model might make: names to reach for, arguments that loop, swell or nest."""

from __future__ import annotations

from typing import Any

NAMES = [
    "__import__", "eval", "exec", "open", "os.system", "subprocess.run", "system", "compile", "getattr", "print",
    "breakpoint", "__builtins__", "globals", "math_gcd.__globals__", "math_gcd.__code__", "FUNCTIONS", "main", "",
    "formula", "_limit", "numbers.math_gcd", "pytest_bfcl.execution.pool.Executor", "\x00", "math_gcd\n", "É",
]  # fmt: skip
"""Not in the table, whatever the arguments are."""

LIMITED: list[tuple[str, dict[str, Any]]] = [
    ("math_gcd", {"a": 1.5, "b": float("nan")}),  # Euclid never ends
    ("calculate_future_value", {"present_value": 1, "interest_rate": 10**30, "periods": 10**9}),
    ("order_food", {"item": ["x"], "quantity": [10**12], "price": ["x"]}),  # a text of 10**12 characters
    ("calculate_displacement", {"initial_velocity": 9, "acceleration": 9, "time": 10**3000}),
    ("get_fibonacci_sequence", {"n": 10**12}),
    ("get_fibonacci_sequence", {"n": 4_999}),  # computed, but too long to show
    ("math_factorial", {"n": 10**9}),
    ("calculate_permutations", {"n": 10**9, "k": 1}),
    ("savings_plan", {"monthly_amount": 1, "months": 10**9}),
    ("calculate_investment_value", {
        "initial_investment": 1, "annual_contribution": 1, "years": 10**9, "annual_return": 0.1, "inflation_rate": [],
    }),
    ("maxPoints", {"points": [[i, i * i] for i in range(600)]}),
    ("get_prime_factors", {"number": 10**40}),
    ("calc_binomial_probability", {"n": 10**9, "k": 2, "p": 0.5}),
    ("add_days", {"start": "2024-01-01", "days": 10**30}),
    ("reverse_text", {"text": "x" * 2_000_000}),
]  # fmt: skip
"""Of the table, but they must end in an error, soon."""

FORMULAS = [
    "lambda x: __import__('os').system('id')", "lambda x: open('/etc/passwd').read()", "lambda x: x.__class__",
    "lambda x: (lambda: x)()", "lambda x: [y for y in x]", "lambda x, y: x", "lambda *x: x", "x**2", "def f(x): pass",
    "lambda x: 'a' * 10**9", "lambda x: f'{x}'", "lambda x: x if x else x", "lambda x: math.__dict__", "lambda x: y",
    "lambda x: pow(x, 2, 3, 4, 5)", "lambda x: " + "(" * 150 + "x" + ")" * 150 + "**" * 3, "lambda x: True", "",
    "lambda x=__import__('os'): x", "lambda x: " + "-" * 1500 + "x", "lambda x: 9**9**9**9", "lambda x: x@x",
]  # fmt: skip

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
