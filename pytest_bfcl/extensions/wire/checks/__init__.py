"""Every check: the rules of the matrix, then checks with their own requests."""

from __future__ import annotations

from pytest_bfcl.extensions.wire import matrix
from pytest_bfcl.extensions.wire.checks import (
    blocks,
    calls,
    completions,
    conversations,
    endings,
    load,
    schemas,
    sdks,
)
from pytest_bfcl.extensions.wire.row import Check, Judges, checks_of

MODULES = (blocks, calls, completions, conversations, endings, load, schemas, sdks)


def all_checks() -> tuple[Check, ...]:
    """Every check of every API."""
    judges: Judges = {name: judge for module in MODULES for name, judge in module.JUDGES.items()}
    return (*matrix.checks(), *checks_of(judges))


def checks_for(api: str) -> tuple[Check, ...]:
    """The checks of an API, in order."""
    return tuple(check for check in all_checks() if api in check.apis)
