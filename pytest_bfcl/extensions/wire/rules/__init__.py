"""Every rule that an answer is judged by, in one table: a row names the rule and the function that judges.

To add one: a function from `Judged` to findings, and a `Row` in the ``ROWS`` of the module that owns its subject.
"""

from __future__ import annotations

from pytest_bfcl.extensions.wire.rules import blocks, calls, endings, events, messages, streams, texts
from pytest_bfcl.extensions.wire.rules.row import Finding, Form, Found, Row

_OF_OPENAI = {
    "answers": (*messages.ROWS, *calls.ROWS, *texts.ROWS),
    "streams": streams.ROWS,
    "events": events.ROWS,
    "endings": endings.ROWS,
}
GROUPS = {group: tuple(map(blocks.shared, rows)) for group, rows in _OF_OPENAI.items()} | {"messages": blocks.ROWS}
"""Group of the report → its rules."""
ROWS: tuple[Row, ...] = tuple(row for rows in GROUPS.values() for row in rows)

__all__ = ["GROUPS", "ROWS", "Finding", "Form", "Found", "Row"]
