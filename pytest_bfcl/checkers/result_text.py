"""Failures of executed calls in words: what was called, what came out, what should have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.checkers import tables
from pytest_bfcl.checkers.details import UNTOLD, ResultCountDetails, ResultDetails, ResultMatchDetails, told
from pytest_bfcl.checkers.wording import call_text, clean, cut, value_text

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

WIDTH = 220
MAX_LISTED = 5

Line = tuple[str, str]


def result_lines(entry: Entry, transcript: Transcript, details: ResultDetails) -> list[Line]:
    """One call: the expected result, the call, its result or error."""
    lines = [("expected", _wanted(details))]
    calls = tables.calls_of(entry, transcript)
    number = details.call
    if number is not None and number < len(calls):
        lines.append(("called", call_text(calls[number], WIDTH)))
    if details.error:
        lines.append(("", f"-> {cut(clean(details.error), WIDTH)}"))
    elif details.called is not UNTOLD:
        lines.append(("", f"-> {value_text(details.called, WIDTH)}"))
    return lines


def count_lines(entry: Entry, transcript: Transcript, details: ResultCountDetails) -> list[Line]:
    """Too many or too few calls: how many of each, and which."""
    lines = [("expected", _count(details.expected))]
    lines += [("", cut(clean(str(call)), WIDTH)) for call in (details.wanted or [])[:MAX_LISTED]]
    lines.append(("called", _count(details.called)))
    return lines + [("", call_text(call, WIDTH)) for call in tables.calls_of(entry, transcript)[:MAX_LISTED]]


def _count(number: int | None) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def unmatched_lines(entry: Entry, transcript: Transcript, details: ResultMatchDetails) -> list[Line]:
    """Several calls: the expected result nothing gives, and what the unused calls gave."""
    lines = [("expected", _wanted(details))]
    calls = tables.calls_of(entry, transcript)
    for position, tried in enumerate((details.sub_errors or ())[:MAX_LISTED]):
        if tried.call < len(calls):
            lines.append(("called" if position == 0 else "", call_text(calls[tried.call], WIDTH // 2)))
            lines.append(("", f"-> {value_text(tried.detail.get('called'), WIDTH // 2)}  <-- {clean(tried.reason)}"))
    return lines


def _wanted(details: ResultDetails | ResultMatchDetails) -> str:
    shown = value_text(told(details.expected), WIDTH)
    call = details.wanted_call
    return f"{cut(clean(call), WIDTH // 2)} -> {shown}" if call else shown
