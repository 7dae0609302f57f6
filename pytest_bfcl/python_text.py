"""Python's own parser, for untrusted texts: parsed, never run.

A process parses one text at a time. CPython (3.11, 3.12) counts the depth of the tree it builds in one place for all
threads. Two texts at once make it raise `SystemError`, or refuse a valid text. All threads share warning filters, too.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from typing import Literal

_ONE_AT_A_TIME = threading.Lock()
_MAY_WARN = re.compile(r"\\|[0-9]\.?[A-Za-z]")
"""Texts for which the parser may warn (escapes, ``1or``): a warning must not become an error."""
_ATTEMPTS = 20
"""Third-party code in other threads may parse at the same time."""


def parse_python(text: str, mode: Literal["eval", "exec"] = "eval") -> ast.AST:
    """The syntax tree of a text, without warnings.

    Raises the parser's own errors: `SyntaxError`, `ValueError`, `RecursionError`, `MemoryError` or `OverflowError`. Its
    tokenizer gives up beyond 200 nested brackets, at once.
    """
    with _ONE_AT_A_TIME:
        for _ in range(_ATTEMPTS - 1):
            try:
                return _parse(text, mode)
            except SystemError:
                continue
        return _parse(text, mode)


def parse_expression(text: str) -> ast.expr:
    """The tree of one expression; see `parse_python`."""
    return parse_python(text).body  # type: ignore[attr-defined, no-any-return]


def _parse(text: str, mode: str) -> ast.AST:
    if _MAY_WARN.search(text) is None:
        return ast.parse(text, mode=mode)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode=mode)


def read_literal(text: str) -> object:
    """The value of a literal. Raises as `parse_python`, and `ValueError` or `TypeError` for other expressions."""
    return ast.literal_eval(parse_expression(text.lstrip(" \t")))
