"""A call that describes a query → the text of one SELECT statement.

Two spellings of the parameters are read: ours (``table``, ``columns``, ``where``, ``group_by``, ``order_by``,
``descending``, ``limit``) and the retired set's (``sql_keyword``, ``table_name``, ``columns``, ``conditions``). Texts
of columns and conditions become part of the statement as they stand: what it may do is the authoriser's business
(`tables`), not that of quoting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_bfcl.json_types import Fields

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_ALIASES = {"table_name": "table", "conditions": "where", "sql_keyword": "keyword"}
_KNOWN = frozenset({"table", "columns", "where", "group_by", "order_by", "descending", "limit", "keyword"})


class NotAQuery(ValueError):
    """The arguments do not describe a query; the text says why."""


def statement_of(arguments: Mapping[Any, Any]) -> str:
    """The statement; raises `NotAQuery`."""
    given = {_ALIASES.get(name, name): value for name, value in arguments.items()}
    unknown = [name for name in given if name not in _KNOWN]
    if unknown:
        raise NotAQuery(f"unknown parameter {str(unknown[0])[:60]!r}")
    keyword = given.get("keyword", "SELECT")
    if not isinstance(keyword, str) or keyword.upper() != "SELECT":
        raise NotAQuery("only SELECT is carried out")
    table = given.get("table")
    if not isinstance(table, str) or not _IDENTIFIER.fullmatch(table):
        raise NotAQuery("the table must be one name")
    parts = [f'SELECT {", ".join(_texts(given, "columns")) or "*"} FROM "{table}"']
    conditions = _texts(given, "where")
    if conditions:
        parts.append("WHERE " + " AND ".join(f"({condition})" for condition in conditions))
    if _texts(given, "group_by"):
        parts.append("GROUP BY " + ", ".join(_texts(given, "group_by")))
    if _texts(given, "order_by"):
        direction = " DESC" if _typed(given, "descending", bool, False) else ""
        parts.append("ORDER BY " + ", ".join(f"{text}{direction}" for text in _texts(given, "order_by")))
    if given.get("limit") is not None:
        parts.append(f"LIMIT {_typed(given, 'limit', int, 0)}")
    return " ".join(parts)


def _texts(given: Fields, name: str) -> list[str]:
    """A parameter that is a list of texts, or one text."""
    value = given.get(name)
    if value is None or value == "":
        return []
    found = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else None
    if found is None or not all(isinstance(text, str) and text.strip() for text in found):
        raise NotAQuery(f"{name} must be a list of texts")
    return found


def _typed(given: Fields, name: str, kind: type, default: object) -> Any:
    value = given.get(name, default)
    if type(value) is not kind:
        raise NotAQuery(f"{name} must be of type {kind.__name__}")
    return value
