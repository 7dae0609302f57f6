"""The headline of a failed entry in a report: the failure in one plain sentence.

Made from the result line alone, without data set and transcripts. A reason's headline (`pytest_bfcl.checkers.reasons`)
is a sentence with placeholders in braces; this module fills them, family by family. ``{called:90}`` limits the words to
90 characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_bfcl.checkers.details import (
    UNTOLD,
    AnswerDetails,
    CallDetails,
    CountDetails,
    Details,
    MatchDetails,
    ObtainedDetails,
    ResultDetails,
    ResultMatchDetails,
    ServerDetails,
    StateDetails,
    TurnDetails,
    UndueDetails,
    UnreadDetails,
    ValueDetails,
    value_of,
)
from pytest_bfcl.checkers.reasons import UNREADABLE, WRONG_NAME, details_of, reason_named, reply_reason, rule_of
from pytest_bfcl.explaining.facts import allowed_text, answer_text, call_text, value_text
from pytest_bfcl.failures import Reason
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import clean, cut


def headline(record: Fields) -> str:
    """One sentence about a failed, errored or skipped record; empty for a passed one."""
    outcome, detail = record.get("outcome"), record.get("detail") or {}
    reason = str(record.get("reason") or "")
    if outcome == "passed":
        return ""
    if outcome == "skipped":
        return f"Not run: {_text(detail.get('error'), 200)}" if detail.get("error") else "Not run."
    if outcome == "error":
        return f"No verdict, not counted: {_text(detail.get('error') or reason, 240)}"
    if reason == UNREADABLE.name and "C2" in (record.get("corrected_rules") or ()):
        said = value_text(detail.get("called"), 140)
        return f"Its reply holds a call, but not alone: words, fences or line breaks stand around it: {said}"
    underlying = detail.get("underlying")
    if not isinstance(underlying, str):
        return _sentence(reason, detail)
    return f"{_sentence(reason, {})} What arrived fails: {_sentence(underlying, detail)}"


def _sentence(name: str, detail: Fields) -> str:
    """The reason's headline with a case's details; the rule if the line lacks what the headline needs."""
    reason = reason_named(name)
    if reason is None:
        unknown = reply_reason(name.removeprefix("reply:")).headline if name.startswith("reply:") else ""
        return unknown or _text(rule_of(name, detail), 200) or name
    return _filled(reason, details_of(name, detail))


def _filled(reason: Reason | None, details: Details) -> str:
    """The headline of a reason with a case's details; empty for an unknown reason."""
    if reason is None:
        return ""
    words = _words(details)
    try:
        return reason.headline.format_map(words)
    except LookupError:
        return str(words.get("otherwise") or f"{reason.rule[:1].upper()}{reason.rule[1:]}.")


@dataclass(frozen=True, slots=True)
class _Shown:
    """A value in a sentence, cut to the width of its placeholder."""

    text: Callable[[Any, int], str]
    value: object

    def __format__(self, width: str) -> str:
        return self.text(value_of(self.value), int(width or 90))


@dataclass(frozen=True, slots=True)
class _Clause:
    """A part of a sentence with its own widths, made only when a headline names it."""

    made: Callable[[Any], str]
    details: Details

    def __str__(self) -> str:
        return self.made(self.details)


def _words(details: Details) -> dict[str, object]:
    """Placeholder → its known value; ``otherwise`` is a whole sentence that needs less."""
    words: dict[str, object] = {"error": _Shown(_text, details.error)} if details.error else {}
    match details:
        case CallDetails():
            return words | _words_of_call(details)
        case CountDetails():
            return words | _words_of_count(details)
        case MatchDetails():
            return words | {"unmatched": _Clause(_unmatched, details)}
        case UnreadDetails():
            return words | {"unread": _Clause(_unread, details), "called": _Shown(value_text, details.called)}
        case UndueDetails():
            return words | {"calls": _Shown(_calls, details.called)}
        case TurnDetails():
            return words | _words_of_turn(details)
        case ServerDetails():
            shown = {"asked": details.asked, "told": details.called, "wanted": details.expected}
            return words | {name: _Shown(_text, value) for name, value in shown.items()}
        case AnswerDetails():
            said = f": {value_text(details.called, 110)}" if details.called else ""
            return words | {"accepted": _Shown(allowed_text, details.expected), "quoted": said}
        case ResultDetails() | ResultMatchDetails():
            return words | _words_of_result(details)
    return words


def _words_of_call(details: CallDetails) -> dict[str, object]:
    unknown = "not documented" in (details.error or "")
    words: dict[str, object] = {
        "param": _Shown(_text, details.param),
        "called": _Shown(value_text, details.called),
        "called_text": _Shown(_text, details.called),
        "expected_text": _Shown(_text, details.expected),
        "accepted": _Shown(allowed_text, details.expected),
        "must_be": _Clause(_must_be, details),
        "why_unexpected": "is not documented" if unknown else "is not expected here",
    }
    if isinstance(details, ValueDetails):
        words["broken_value"] = words["otherwise"] = _Clause(_broken_value, details)
        if details.type:
            words["type"] = _Shown(_text, details.type)
    return words


def _must_be(details: CallDetails) -> str:
    return f"; it has to be {allowed_text(details.expected, 90)}" if details.expected else ""


def _broken_value(details: ValueDetails) -> str:
    name, called = _text(value_of(details.param), 60), value_text(value_of(details.called), 90)
    if details.key is not UNTOLD and details.allowed is not UNTOLD:
        allowed = allowed_text(details.allowed, 90)
        return f"In the argument “{name}”, “{_text(details.key, 40)}” has to be {allowed}; given is {called}."
    if details.error:
        return f"The argument “{name}” is {called}: {_text(details.error, 120)}."
    return f"The argument “{name}” is {called}; accepted is {allowed_text(value_of(details.expected), 110)}."


def _words_of_count(details: CountDetails) -> dict[str, object]:
    made = "no call" if not details.called else "one call" if details.called == 1 else f"{details.called} calls"
    if details.expected is None:
        return {"made": made}
    due = "one call is expected" if details.expected == 1 else f"{details.expected} calls are expected"
    return {"made": made, "due": due}


def _unmatched(details: MatchDetails) -> str:
    wanted = details.wanted
    shown = answer_text(wanted, 130) if isinstance(wanted, Mapping) else f"number {(details.answer or 0) + 1}"
    other = [tried for tried in details.attempts if tried.reason != WRONG_NAME.name]
    if not other:
        return f"None of its calls is the expected {shown}."
    why = _filled(reason_named(other[0].reason), other[0].details) or _text(other[0].reason, 200)
    return f"No call is the expected {shown}. Call {other[0].call + 1}: {why[:1].lower()}{why[1:]}"


def _unread(details: UnreadDetails) -> str:
    called, error = details.called, _text(details.error, 90)
    said = value_text(called, 110) if isinstance(called, str) and called else ""
    if error.startswith("no tool call"):
        return f"It answered in words instead of calling a function: {said}" if said else "It called nothing."
    return f"Its reply cannot be read as a call ({error}){f': {said}' if said else ''}"


def _words_of_turn(details: TurnDetails) -> dict[str, object]:
    words: dict[str, object] = {
        "turn": "the conversation" if details.turn is None else f"turn {details.turn + 1}",
        "calls": _Shown(_calls, details.called),
        "called_turns": _Shown(_text, details.called),
        "due_turns": _Shown(_text, details.expected),
        "due_calls": _due_calls(details.expected),
    }
    if isinstance(details, StateDetails):
        words["system"] = _Shown(_text, details.class_name or "system")
        words["differing"] = _differing(details.difference or {})
    if isinstance(details, ObtainedDetails):
        words["missing_calls"] = _Shown(_missing, details.missing_calls)
    return words


def _due_calls(expected: object) -> str:
    due = "; ".join(_text(call, 80) for call in expected[:3]) if isinstance(expected, list) else ""
    return f"; due was {cut(due, 140)}" if due else ""


def _differing(difference: Mapping[str, object]) -> str:
    paths = [path for path in difference if path != "…"]
    shown = ", ".join(_text(path, 50) for path in paths[:3]) + (" …" if len(paths) > 3 else "")
    return f": {shown}" if shown else ""


def _missing(calls: list[object] | None, width: int) -> str:
    if not calls:
        return "expected calls"
    return _text(calls[0], width) + (f" and {len(calls) - 1} more" if len(calls) > 1 else "")


def _words_of_result(details: ResultDetails | ResultMatchDetails) -> dict[str, object]:
    words: dict[str, object] = {"expected": _Shown(value_text, details.expected)}
    if isinstance(details, ResultDetails):
        words["called"] = _Shown(value_text, details.called)
        words["called_text"] = _Shown(_text, details.called)
        words["expected_text"] = _Shown(_text, details.expected)
    return words


def _calls(called: object, width: int) -> str:
    calls = called if isinstance(called, list) else []
    shown = "; ".join(call_text(call, 100) if isinstance(call, Mapping) else _text(call, 100) for call in calls[:3])
    return cut(shown, width) or "something"


def _text(value: object, width: int) -> str:
    return "" if value is None else cut(clean(str(value)), width)


ALIKE = 3
"""Failures of one reason up to which each is listed."""
NAMED = 3
"""Entries that are named besides the first."""

T = TypeVar("T")


def error_text(record: Fields) -> str:
    """The shown parts of an error: tag and reason, the text, the remedy."""
    detail = record.get("detail") or {}
    lines = [f"{record.get('tag')}: {record.get('reason')}", f"  {detail.get('error') or record.get('reason')}"]
    return "\n".join([*lines, f"  what to do: {detail['advice']}"] if detail.get("advice") else lines)


def sign_of(text: str, entry_id: str) -> str:
    """The key of equal errors: their texts without the entry's id and numbers."""
    return re.sub(r"\d+", "", text.replace(entry_id, ""))


def alike(items: Iterable[T], sign: Callable[[T], str]) -> list[list[T]]:
    """The items grouped by key, in the order of each group's first item."""
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(sign(item), []).append(item)
    return list(groups.values())


def ids_text(ids: Sequence[str], count: int | None = None) -> str:
    """The first ids; ``count`` is the total number if there are more."""
    shown = ", ".join(ids[:NAMED])
    return f"{shown} …" if max(len(ids), count or 0) > NAMED else shown
