"""A call compared with an expected call: a table of arguments with marks, and the distance of the two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.ast import CallRules, check_value, same_name
from pytest_bfcl.checkers.corrected import CORRECTED, OFFICIAL
from pytest_bfcl.checkers.details import (
    UNTOLD,
    CallDetails,
    Details,
    MatchDetails,
    ResultCountDetails,
    ResultDetails,
    ResultMatchDetails,
    TriedDetails,
    value_of,
)
from pytest_bfcl.checkers.entries import language_of, single_turn_calls
from pytest_bfcl.checkers.exact import BrokenValue, ParameterType, parameter_type
from pytest_bfcl.checkers.values import MARKER
from pytest_bfcl.decoding import DecodeError
from pytest_bfcl.explaining.facts import allowed_text, call_text, value_text
from pytest_bfcl.failures import Reason
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import clean, cut

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Call, Transcript


Line = tuple[str, str]

COLUMN = 44
FULL = 300
MAX_UNEXPECTED = 30

_CLASS_WORDS = {
    str: "text",
    int: "an integer",
    float: "a float",
    bool: "a boolean",
    list: "a list",
    tuple: "a tuple",
    dict: "an object",
    type(None): "null",
}

_WORDS = {"True": "true", "False": "false", "None": "null"}
_PYTHON_WORDS = re.compile(r"(?<![\w\"])(?:True|False|None)(?![\w\"])")


def calls_of(entry: Entry, transcript: Transcript) -> list[Call]:
    """The calls of a single-turn conversation, by official rules, else by corrected rules; empty without calls."""
    for rules in (OFFICIAL, CORRECTED):
        try:
            return single_turn_calls(entry, transcript, rules)
        except DecodeError:
            continue
    return []


class CallRow(NamedTuple):
    """One argument (or the function's name) of a call and the expected one; ``mark`` is the problem."""

    label: str
    expected: str
    called: str
    mark: str


def call_table(entry: Entry, transcript: Transcript, call: Call, wanted: Fields) -> list[Line]:
    """Lines ``argument expected called <-- problem`` for one call and the answer it is compared with."""
    return _aligned([("", "expected", "called", ""), *call_rows(entry, transcript, call, wanted)])


class Compared(NamedTuple):
    """A call, its number, and the expected call that it is compared with."""

    number: int
    call: Call
    wanted: Fields


def compared(entry: Entry, transcript: Transcript, details: Details) -> Compared | None:
    """The call of a failed verdict; ``None`` if the verdict is about no call. If no call fits, the closest one."""
    if not isinstance(details, CallDetails | MatchDetails) or not isinstance(details.wanted, Mapping):
        return None
    wanted = details.wanted
    calls = calls_of(entry, transcript)
    if isinstance(details, CallDetails):
        number = details.call
    else:
        tried = [each.call for each in details.attempts if each.call < len(calls)]
        number = min(tried, key=lambda call: distance(entry, transcript, calls[call], wanted), default=None)
    if number is None or number >= len(calls) or not wanted:
        return None
    return Compared(number, calls[number], wanted)


def other_attempts(
    entry: Entry, transcript: Transcript, details: TriedDetails, closest: Compared | None = None
) -> Iterator[tuple[int, Call, str]]:
    """Further calls tried for an expected one: number, call, and the reason why it does not fit."""
    calls = calls_of(entry, transcript)
    for tried in details.attempts:
        if tried.call < len(calls) and (closest is None or tried.call != closest.number):
            yield tried.call, calls[tried.call], clean(tried.reason)


def call_rows(entry: Entry, transcript: Transcript, call: Call, wanted: Fields) -> list[CallRow]:
    """The rows of `call_table`, first the function's name."""
    name, arguments = call
    expected_name, accepted = next(iter(wanted.items()))
    document = _document(entry, transcript, expected_name)
    expected_name = str(document.get("name", expected_name))
    how = _how(entry, transcript)
    shown = expected_name.replace(".", "_") if transcript.underscore_names else expected_name
    unexpected = [parameter for parameter in arguments if parameter not in accepted]
    called = cut(clean(str(name)), FULL)
    if not same_name(name, expected_name, how):
        rows = [("function", shown, called, "<-- another function")]
        rows += [(p, _allowed(v, how), _called(arguments, p, how), "") for p, v in accepted.items()]
        rows += [(_label(p), "", _called(arguments, p, how), "") for p in unexpected[:MAX_UNEXPECTED]]
    else:
        rows = [("function", shown, called, "")]
        marks = _marks(document, arguments, accepted, how)
        required = _required(document)
        for parameter, values in accepted.items():
            allowed = _allowed(values, how, optional=parameter not in required)
            rows.append((parameter, allowed, _called(arguments, parameter, how), marks.get(parameter, "")))
        for parameter in unexpected[:MAX_UNEXPECTED]:
            rows.append((_label(parameter), "", _called(arguments, parameter, how), marks.get(parameter, "")))
    if len(unexpected) > MAX_UNEXPECTED:
        rows.append(("…", "", f"{len(unexpected) - MAX_UNEXPECTED} more arguments", ""))
    return [CallRow(*row) for row in rows]


def distance(entry: Entry, transcript: Transcript, call: Call, wanted: Fields) -> tuple[bool, int]:
    """The distance of a call from an answer: another function first, then the number of wrong arguments."""
    name, arguments = call
    expected_name, accepted = next(iter(wanted.items()))
    document = _document(entry, transcript, expected_name)
    how = _how(entry, transcript)
    other = not same_name(name, str(document.get("name", expected_name)), how)
    return other, len(_marks(document, arguments, accepted, how))


def _how(entry: Entry, transcript: Transcript) -> CallRules:
    return CallRules(language_of(entry), transcript.underscore_names, frozenset(), entry.function)


def _document(entry: Entry, transcript: Transcript, name: str) -> Fields:
    if entry.rule == "simple" and entry.function:
        return entry.function[0]
    return next((each for each in entry.function if each.get("name") == name), {})


def _properties(document: Fields) -> Fields:
    schema = document.get("parameters")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _required(document: Fields) -> Sequence[Any]:
    schema = document.get("parameters")
    required = schema.get("required") if isinstance(schema, Mapping) else None
    return required if isinstance(required, list) else ()


def _marks(document: Fields, arguments: Mapping[Any, Any], accepted: Fields, how: CallRules) -> dict[Any, str]:
    """Parameter → its problem, for all wrong parameters (the verdict names only the first)."""
    properties, required = _properties(document), _required(document)
    marks: dict[Any, str] = {}
    for parameter, value in arguments.items():
        if parameter not in properties:
            marks[parameter] = "<-- no such argument" if parameter is not None else "<-- argument without a name"
        elif parameter not in accepted:
            marks[parameter] = "<-- not expected here"
        else:
            broken = check_value(value, properties[parameter], accepted[parameter], how)
            if broken is not None:
                marks[parameter] = f"<-- {_few_words(broken, properties[parameter], how)}"
    for parameter in required:
        if parameter not in arguments:
            marks[parameter] = "<-- required, missing"
    for parameter, values in accepted.items():
        if parameter not in arguments and MARKER not in values:
            marks.setdefault(parameter, "<-- missing")
    return marks


def _few_words(broken: BrokenValue, schema: object, how: CallRules) -> str:
    """The problem of a value in a few words."""
    reason, details, kind = broken.reason, broken.details, parameter_type(schema, how.language)
    called = value_of(details.called)
    if reason in (reasons.TYPE, reasons.ELEMENT_TYPE, reasons.JAVA_TEXT, reasons.JAVASCRIPT_TEXT):
        return _wrong_type(reason, called, details.index or 0, kind, how)
    if reason is reasons.OBJECT_KEY:
        said = details.error or "wrong keys"
    elif reason is reasons.OBJECT_VALUE:
        said = f"{clean(str(value_of(details.key)))!r} must be {allowed_text(value_of(details.allowed), 80)}"
    else:
        said = reason.mark or reason.name
    return said if details.text is None else f"{said} (read as {value_text(called, 60)})"


def _wrong_type(reason: Reason, called: object, index: int, kind: ParameterType, how: CallRules) -> str:
    found = _class_word(called)
    if reason is reasons.TYPE:
        return f"{found}, not {kind.words}" if how.language == "python" else f"not a literal of type {kind.words}"
    if reason is not reasons.ELEMENT_TYPE:
        return f"{found}, must be sent as text"
    if isinstance(called, list) and index < len(called):
        return f"element {index + 1} is {_class_word(called[index])}, not {kind.element_word}"
    return f"elements are not all {kind.element_word}"


def _class_word(value: object) -> str:
    return _CLASS_WORDS.get(type(value), type(value).__name__)


def _called(arguments: Mapping[Any, Any], parameter: object, how: CallRules) -> str:
    if parameter not in arguments:
        return "-"
    value = arguments[parameter]
    if how.language != "python" and isinstance(value, str):  # source text: quotes of ours would mislead
        return cut(clean(value[: 2 * FULL]), FULL)
    return value_text(value, FULL)


def _allowed(answers: object, how: CallRules, *, optional: bool = True) -> str:
    shown = allowed_text(answers, FULL, optional=optional)
    if how.language != "python":
        shown = _PYTHON_WORDS.sub(lambda found: _WORDS[found.group()], shown)
    return shown


def _label(parameter: object) -> str:
    return "(unnamed)" if parameter is None else clean(str(parameter))[:40]


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> list[Line]:
    """Rows in columns; a text too wide for its column gets lines below if it is marked."""
    first = min(max((len(row[0]) for row in rows), default=0), 24)
    second = min(max((len(row[1]) for row in rows), default=0), COLUMN)
    third = min(max((len(row[2]) for row in rows if row[3]), default=0), COLUMN)
    lines: list[Line] = []
    for label, expected, called, mark in rows:
        wide = len(expected) > COLUMN or len(called) > COLUMN
        if mark and wide:
            lines.append(("", f"{label[:24]:<{first}}  {mark}"))
            lines.append(("", f"{'':<{first}}    expected {expected or '-'}"))
            lines.append(("", f"{'':<{first}}    called   {called}"))
            continue
        text = f"{label[:24]:<{first}}  {_cell(expected, second)}  {_cell(called, third if mark else 0)}  {mark}"
        lines.append(("", text.rstrip()))
    return lines


def _cell(text: str, width: int) -> str:
    text = text if len(text) <= COLUMN else text[: COLUMN - 1] + "…"
    return f"{text:<{width}}"


WIDTH = 220
MAX_LISTED = 5


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
    """The result of a call: its error or its value; empty without either."""
    if details.error:
        return cut(clean(details.error), width)
    return "" if details.called is UNTOLD else value_text(details.called, width)


def count_lines(entry: Entry, transcript: Transcript, details: ResultCountDetails) -> list[Line]:
    """Too many or too few calls: the numbers, and the calls."""
    lines = [("expected", _count(details.expected))]
    lines += [("", cut(clean(str(call)), WIDTH)) for call in (details.wanted or [])[:MAX_LISTED]]
    lines.append(("called", _count(details.called)))
    return lines + [("", call_text(call, WIDTH)) for call in calls_of(entry, transcript)[:MAX_LISTED]]


def _count(number: int | None) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def unmatched_lines(entry: Entry, transcript: Transcript, details: ResultMatchDetails) -> list[Line]:
    """Several calls: the expected result that no call gives, and the results of the unused calls."""
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
