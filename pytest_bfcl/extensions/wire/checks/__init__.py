"""Every check, by group: the rules of the matrix, then those with their own requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.extensions.wire import matrix
from pytest_bfcl.extensions.wire.checks import (
    arguments,
    blocks,
    calls,
    completions,
    endings,
    faults,
    fuzz,
    histories,
    load,
    measures,
    results,
    schemas,
    sdks,
)
from pytest_bfcl.extensions.wire.row import Check, checks_of, of_messages

GROUPS: Mapping[str, Any] = {
    "arguments": arguments,
    "calls": calls,
    "tools": schemas,
    "schemas": fuzz,
    "conversations": results,
    "histories": histories,
    "items": histories,
    "endings": endings,
    "faults": faults,
    "load": load,
    "messages": blocks,
    "completions": completions,
    "clients": sdks,
    "measures": measures,
}


def all_checks() -> tuple[Check, ...]:
    """Every check of every API."""
    own = (check for name, module in GROUPS.items() for check in checks_of(name, module.JUDGES))
    return (*matrix.checks(), *own)


def checks_for(api: str) -> tuple[Check, ...]:
    """The checks of an API, in order."""
    found = (check for check in all_checks() if api in check.apis)
    return tuple(map(of_messages, found)) if api == "anthropic" else tuple(found)
