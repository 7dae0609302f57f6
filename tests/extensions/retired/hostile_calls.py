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
