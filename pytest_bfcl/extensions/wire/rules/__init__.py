"""Every rule for answers: ``rules.toml`` describes it, a function with its name judges.

To add one, write a line there, and a function from `Judged` to findings in the ``JUDGES`` of its module.
"""

from __future__ import annotations

from pytest_bfcl.extensions.wire.row import Row, RowJudges, rows_of
from pytest_bfcl.extensions.wire.rules import blocks, calls, messages, streams

_JUDGES: RowJudges = {**messages.JUDGES, **calls.JUDGES, **streams.JUDGES, **blocks.JUDGES}
ROWS: tuple[Row, ...] = tuple(rows_of(_JUDGES))
