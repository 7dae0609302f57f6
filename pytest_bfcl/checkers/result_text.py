"""Failures of executed calls in words: what was called, what came out, what should have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers import tables
from pytest_bfcl.checkers.wording import call_text, clean, cut, value_text

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

WIDTH = 220
MAX_LISTED = 5

Line = tuple[str, str]


def result_lines(entry: Entry, transcript: Transcript, detail: Mapping[str, Any]) -> list[Line]:
    """One call: the expected result, the call, its result or error."""
    lines = [("expected", _wanted(detail))]
    calls = tables.calls_of(entry, transcript)
    number = detail.get("call")
    if isinstance(number, int) and number < len(calls):
        lines.append(("called", call_text(calls[number], WIDTH)))
    if detail.get("error"):
        lines.append(("", f"-> {cut(clean(str(detail['error'])), WIDTH)}"))
    elif "called" in detail:
        lines.append(("", f"-> {value_text(detail['called'], WIDTH)}"))
    return lines


def count_lines(entry: Entry, transcript: Transcript, detail: Mapping[str, Any]) -> list[Line]:
    """Too many or too few calls: how many of each, and which."""
    lines = [("expected", _count(detail.get("expected")))]
    lines += [("", cut(clean(str(call)), WIDTH)) for call in (detail.get("wanted") or [])[:MAX_LISTED]]
    lines.append(("called", _count(detail.get("called"))))
    return lines + [("", call_text(call, WIDTH)) for call in tables.calls_of(entry, transcript)[:MAX_LISTED]]


def _count(number: Any) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def unmatched_lines(entry: Entry, transcript: Transcript, detail: Mapping[str, Any]) -> list[Line]:
    """Several calls: the expected result nothing gives, and what the unused calls gave."""
    lines = [("expected", _wanted(detail))]
    calls = tables.calls_of(entry, transcript)
    subs: Sequence[Mapping[str, Any]] = detail.get("sub_errors") or []
    for position, sub in enumerate(subs[:MAX_LISTED]):
        if sub["call"] < len(calls):
            lines.append(("called" if position == 0 else "", call_text(calls[sub["call"]], WIDTH // 2)))
            lines.append(("", f"-> {value_text(sub.get('called'), WIDTH // 2)}  <-- {sub['reason']}"))
    return lines


def _wanted(detail: Mapping[str, Any]) -> str:
    shown = value_text(detail.get("expected"), WIDTH)
    call = detail.get("wanted_call")
    return f"{cut(clean(str(call)), WIDTH // 2)} -> {shown}" if call else shown
