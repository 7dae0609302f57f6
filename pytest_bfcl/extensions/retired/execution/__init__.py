"""Where calls of executable entries are carried out: our own functions, and SQL on fixtures, in a subprocess.

A room beside the simulators because it is the one place that runs something for a model: worker processes
(`pool`) with limits on time, memory and system calls (`limits`), which look names up in `functions` and know nothing
else. The conversation records what came out in the transcript; checkers judge that record and execute nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.extensions.retired.execution.functions import FUNCTIONS, NETWORK_FUNCTIONS
from pytest_bfcl.extensions.retired.execution.statements import statement_of
from pytest_bfcl.extensions.sql.outcome import Outcome
from pytest_bfcl.late_names import late_names

if TYPE_CHECKING:
    from pytest_bfcl.extensions.retired.execution.pool import Executor as Executor

__all__ = ["FUNCTIONS", "NETWORK_FUNCTIONS", "Executor", "Outcome", "statement_of"]

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__, {"Executor": "pool"})
