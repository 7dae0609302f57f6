"""Every rule that an answer is judged by: ``rules.toml`` says what it is, a function of its name judges.

To add one: a line there, and a function from `Judged` to findings in the ``JUDGES`` of the module of its subject.
"""

from __future__ import annotations

from pytest_bfcl.extensions.wire.row import Finding, Form, Found, Row, rows_of
from pytest_bfcl.extensions.wire.rules import blocks, calls, endings, events, messages, streams, texts

GROUPS = {
    "answers": rows_of("answers", messages.JUDGES, calls.JUDGES, texts.JUDGES),
    "streams": rows_of("streams", streams.JUDGES),
    "events": rows_of("events", events.JUDGES),
    "endings": rows_of("endings", endings.JUDGES),
    "messages": rows_of("messages", blocks.JUDGES),
}
"""Group of the report → its rules."""
ROWS: tuple[Row, ...] = tuple(row for rows in GROUPS.values() for row in rows)

__all__ = ["GROUPS", "ROWS", "Finding", "Form", "Found", "Row"]
