"""Checkers of other packages and of our own extensions, found by entry points.

A checker in the group ``pytest_bfcl.checkers`` is named by an entry's field ``checker``; one in
``pytest_bfcl.categories`` has the name of a group of categories, whose calls it executes and judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from pytest_bfcl import entry_points
from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.details import TroubleDetails
from pytest_bfcl.failures import HarnessError, UsageError, Verdict
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.failures import Reason
    from pytest_bfcl.transcript import Transcript


def own_checker(entry: Entry) -> str | None:
    """The checker that a user's entry names instead of its category's."""
    name = None if entry.official else (entry.model_extra or {}).get("checker")
    return name if isinstance(name, str) and name else None


def check_plugged(name: str, entry: Entry, transcript: Transcript) -> Verdict:
    """The verdict of a checker ``(entry, transcript)``: a `Verdict`, true, or a text with the error. Raises
    `HarnessError` if it is not installed, or returns something else.
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


class CallServices(Protocol):
    """The services that calls reach besides the model, in one run; safe to use from several threads."""

    def require(self, entry: Entry) -> None:
        """Raise `EntrySkipped` before a request if the entry could not be judged."""
        ...

    def execute(self, entry: Entry, transcript: Transcript) -> Transcript:
        """Execute the calls of a reply and return a transcript with their results for the checker. Raises
        `EntrySkipped` if a recording is missing, `HarnessError` if the ground truth cannot be executed.
        """
        ...

    def close(self) -> None:
        """End workers and servers."""
        ...


class CategoryGroup(Protocol):
    """The object or module of an entry point of ``pytest_bfcl.categories``."""

    def check(self, entry: Entry, transcript: Transcript) -> Verdict:
        """The verdict on executed calls."""
        ...

    def problem(self, checker: str, rest: str, *, official: bool, archive: Path | None) -> str | None:
        """Why entries of this checker cannot run; else ``None``."""
        ...

    def open_services(self, rest: str, *, official: bool, archive: Path | None, process: str) -> CallServices:
        """The services of their calls; each starts on the first call."""
        ...

    def every_reason(self) -> Sequence[Reason]:
        """Every reason its verdicts have."""
        ...

    def key_variables(self) -> Sequence[str]:
        """Environment variables with their keys, which a run on another machine needs as well."""
        ...


def missing_group(group: str) -> str | None:
    """The message if no installed package judges a group of categories; else ``None``."""
    if entry_points.find("categories", group) is not None:
        return None
    return f"{group} categories are judged by an extension that is not installed here: install pytest-bfcl as a whole"


def category_group(group: str) -> CategoryGroup:
    """The judge of a group of categories. Raises `HarnessError` if none is installed."""
    point = entry_points.find("categories", group)
    if point is None:
        raise HarnessError(HarnessTrouble.CHECKER, str(missing_group(group)))
    try:
        return cast(CategoryGroup, entry_points.load(point, "group of categories"))
    except UsageError as error:
        raise HarnessError(HarnessTrouble.CHECKER, str(error)) from error
