"""A broken rule, as the checks of calls and values report it before anyone knows whether it decides."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_bfcl.checkers.details import CallDetails, ValueDetails
from pytest_bfcl.failures import Reason


@dataclass(slots=True)
class BrokenRule:
    """One broken rule; its details are filled in from the inside out: value, argument, call.

    ``raises`` marks input on which the reference itself raises (it gives no verdict there); under official rules such
    an entry fails as a whole.
    """

    reason: Reason
    details: CallDetails
    raises: bool = False


@dataclass(slots=True)
class BrokenValue(BrokenRule):
    """A broken rule about one argument's value."""

    details: ValueDetails
