"""Checkers of other packages: entry point group ``pytest_bfcl.checkers``, named by an entry's field ``checker``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl import entry_points
from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.details import TroubleDetails
from pytest_bfcl.failures import HarnessError, UsageError, Verdict
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript


def own_checker(entry: Entry) -> str | None:
    """The checker that an entry of a user's names instead of its category's."""
    name = None if entry.official else (entry.model_extra or {}).get("checker")
    return name if isinstance(name, str) and name else None


def check_plugged(name: str, entry: Entry, transcript: Transcript) -> Verdict:
    """The verdict of a checker ``(entry, transcript)``: a `Verdict`, true, or a text that says what is wrong.

    Raises `HarnessError` when nobody offers it, or it returns something else.
    """
    point = entry_points.find("checkers", name)
    if point is None:
        raise HarnessError(
            HarnessTrouble.CHECKER, f"{entry.id}: no installed package offers the checker {name[:100]!r}"
        )
    try:
        check = entry_points.load(point, "checker")
    except UsageError as error:
        raise HarnessError(HarnessTrouble.CHECKER, f"{entry.id}: {error}") from error
    found = check(entry, transcript)
    if isinstance(found, Verdict):
        return found
    if found is True:
        return Verdict(True)
    if isinstance(found, str):
        return Verdict.wrong(reasons.OWN_CHECKER, TroubleDetails(error=f"{name}: {found}"[:500]))
    raise HarnessError(
        HarnessTrouble.CHECKER, f"{entry.id}: the checker {name!r} returned {type(found).__name__}, no verdict"
    )
