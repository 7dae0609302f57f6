"""Failures of executed calls in words: what was called, what came out, what should have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.checkers.details import UNTOLD, ResultCountDetails, ResultDetails, ResultMatchDetails, value_of
from pytest_bfcl.explaining.calls import calls_of
from pytest_bfcl.explaining.notation import call_text, value_text
from pytest_bfcl.plain_text import clean, cut

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

WIDTH = 220
MAX_LISTED = 5

Line = tuple[str, str]


def result_lines(entry: Entry, transcript: Transcript, details: ResultDetails) -> list[Line]:
    """One call: the expected result, the call, its result or error."""
    lines = [("expected", wanted_result(details))]
    calls = calls_of(entry, transcript)
    number = details.call
    if number is not None and number < len(calls):
        lines.append(("called", call_text(calls[number], WIDTH)))
    given = given_result(details)
    return [*lines, ("", f"-> {given}")] if given else lines


def given_result(details: ResultDetails, width: int = WIDTH) -> str:
    """What the call gave: its error or its value; empty if there is neither."""
    if details.error:
        return cut(clean(details.error), width)
    return "" if details.called is UNTOLD else value_text(details.called, width)


def count_lines(entry: Entry, transcript: Transcript, details: ResultCountDetails) -> list[Line]:
    """Too many or too few calls: how many of each, and which."""
    lines = [("expected", _count(details.expected))]
    lines += [("", cut(clean(str(call)), WIDTH)) for call in (details.wanted or [])[:MAX_LISTED]]
    lines.append(("called", _count(details.called)))
    return lines + [("", call_text(call, WIDTH)) for call in calls_of(entry, transcript)[:MAX_LISTED]]


def _count(number: int | None) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def unmatched_lines(entry: Entry, transcript: Transcript, details: ResultMatchDetails) -> list[Line]:
    """Several calls: the expected result nothing gives, and what the unused calls gave."""
    lines = [("expected", wanted_result(details))]
    calls = calls_of(entry, transcript)
    for position, tried in enumerate(details.attempts[:MAX_LISTED]):
        if tried.call < len(calls):
            lines.append(("called" if position == 0 else "", call_text(calls[tried.call], WIDTH // 2)))
            lines.append(
                ("", f"-> {value_text(value_of(tried.details.called), WIDTH // 2)}  <-- {clean(tried.reason)}")
            )
    return lines


def wanted_result(details: ResultDetails | ResultMatchDetails, width: int = WIDTH) -> str:
    """The expected result, and the call that gives it, if known."""
    shown = value_text(value_of(details.expected), width)
    call = details.wanted_call
    return f"{cut(clean(call), width // 2)} -> {shown}" if call else shown
