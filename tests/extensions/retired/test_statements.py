"""Calls become statements, or are refused."""

from __future__ import annotations

import pytest

from pytest_bfcl.extensions.retired.carrying import NotAQuery, statement_of


@pytest.mark.parametrize(
    ("arguments", "statement"),
    [
        ({"table": "t"}, 'SELECT * FROM "t"'),
        ({"table": "t", "columns": [], "where": ""}, 'SELECT * FROM "t"'),
        ({"table_name": "t", "sql_keyword": "select", "columns": ["a"]}, 'SELECT a FROM "t"'),
        ({"table": "t", "where": ["a > 1", "b = 2"]}, 'SELECT * FROM "t" WHERE (a > 1) AND (b = 2)'),
        (
            {"table": "t", "columns": ["a", "COUNT(*)"], "group_by": ["a"], "order_by": ["a"], "descending": True},
            'SELECT a, COUNT(*) FROM "t" GROUP BY a ORDER BY a DESC',
        ),
        ({"table": "t", "order_by": "a", "limit": 3}, 'SELECT * FROM "t" ORDER BY a LIMIT 3'),
    ],
)
def test_statement(arguments: dict, statement: str) -> None:
    assert statement_of(arguments) == statement


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"table": 't" UNION SELECT 1 --'},
        {"table": "a.b"},
        {"table": ["t"]},
        {"table": "t", "columns": [1]},
        {"table": "t", "columns": {"a": 1}},
        {"table": "t", "limit": "1"},
        {"table": "t", "limit": True},
        {"table": "t", "order_by": ["a"], "descending": "yes"},
        {"table": "t", "sql_keyword": "DELETE"},
        {"table": "t", "statement": "DROP TABLE t"},
        {"table": "t", None: 1},
    ],
)
def test_refused(arguments: dict) -> None:
    with pytest.raises(NotAQuery):
        statement_of(arguments)
