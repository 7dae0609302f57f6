"""One call beside one expected call: a table of arguments with marks, and how far apart the two are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.checkers.ast import CallRules, check_value, same_name
from pytest_bfcl.checkers.corrected import CORRECTED, OFFICIAL
from pytest_bfcl.checkers.entries import language_of, single_turn_calls
from pytest_bfcl.checkers.problem import Problem
from pytest_bfcl.checkers.types import parameter_type
from pytest_bfcl.checkers.values import MARKER
from pytest_bfcl.checkers.wording import allowed_text, clean, cut, value_text
from pytest_bfcl.decoding import DecodeError

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
    """The calls of a single-turn conversation, by official rules, else by corrected ones; empty if neither."""
    for rules in (OFFICIAL, CORRECTED):
        try:
            return single_turn_calls(entry, transcript, rules)
        except DecodeError:
            continue
    return []


class CallRow(NamedTuple):
    """One argument (or the function's name) of a call beside the expected one; ``mark`` says what is wrong."""

    label: str
    expected: str
    called: str
    mark: str


def call_table(entry: Entry, transcript: Transcript, call: Call, wanted: Mapping[str, Any]) -> list[Line]:
    """Lines ``argument  expected  called  <-- what is wrong`` for one call and the answer it is held against."""
    return _aligned([("", "expected", "called", ""), *call_rows(entry, transcript, call, wanted)])


def compared(
    entry: Entry, transcript: Transcript, detail: Mapping[str, Any]
) -> tuple[int, Call, Mapping[str, Any]] | None:
    """The call a failed verdict is about, as (its number, the call, the expected one); ``None`` when it is about none.

    Where no call fits an expected one, this is the closest.
    """
    wanted, number = detail.get("wanted"), detail.get("call")
    if not isinstance(wanted, Mapping):
        return None
    calls = calls_of(entry, transcript)
    tried = [sub["call"] for sub in detail.get("sub_errors", ()) if sub["call"] < len(calls)]
    if tried:
        number = min(tried, key=lambda call: distance(entry, transcript, calls[call], wanted))
    if not isinstance(number, int) or number >= len(calls):
        return None
    return number, calls[number], wanted


def call_rows(entry: Entry, transcript: Transcript, call: Call, wanted: Mapping[str, Any]) -> list[CallRow]:
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


def distance(entry: Entry, transcript: Transcript, call: Call, wanted: Mapping[str, Any]) -> tuple[bool, int]:
    """How far a call is from an answer: another function first, then the number of arguments that are wrong."""
    name, arguments = call
    expected_name, accepted = next(iter(wanted.items()))
    document = _document(entry, transcript, expected_name)
    how = _how(entry, transcript)
    other = not same_name(name, str(document.get("name", expected_name)), how)
    return other, len(_marks(document, arguments, accepted, how))


def _how(entry: Entry, transcript: Transcript) -> CallRules:
    return CallRules(language_of(entry), transcript.underscore_names, frozenset(), entry.function)


def _document(entry: Entry, transcript: Transcript, name: str) -> Mapping[str, Any]:
    if entry.rule == "simple" and entry.function:
        return entry.function[0]
    return next((each for each in entry.function if each.get("name") == name), {})


def _properties(document: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = document.get("parameters")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _required(document: Mapping[str, Any]) -> Sequence[Any]:
    schema = document.get("parameters")
    required = schema.get("required") if isinstance(schema, Mapping) else None
    return required if isinstance(required, list) else ()


def _marks(
    document: Mapping[str, Any], arguments: Mapping[Any, Any], accepted: Mapping[str, Any], how: CallRules
) -> dict[Any, str]:
    """Parameter → what is wrong with it, for all wrong ones (the verdict names only the first)."""
    properties, required = _properties(document), _required(document)
    marks: dict[Any, str] = {}
    for parameter, value in arguments.items():
        if parameter not in properties:
            marks[parameter] = "<-- no such argument" if parameter is not None else "<-- argument without a name"
        elif parameter not in accepted:
            marks[parameter] = "<-- not expected here"
        else:
            problem = check_value(value, properties[parameter], accepted[parameter], how)
            if problem is not None:
                marks[parameter] = f"<-- {_said(problem, properties[parameter], how)}"
    for parameter in required:
        if parameter not in arguments:
            marks[parameter] = "<-- required, missing"
    for parameter, values in accepted.items():
        if parameter not in arguments and MARKER not in values:
            marks.setdefault(parameter, "<-- missing")
    return marks


def _said(problem: Problem, schema: Any, how: CallRules) -> str:
    """A problem in a few words."""
    detail, kind = problem.detail, parameter_type(schema, how.language)
    called = detail.get("called")
    found = _CLASS_WORDS.get(type(called), type(called).__name__)
    if problem.reason == "type_error:simple":
        if how.language != "python":
            return f"not a literal of type {kind.words}"
        return f"{found}, not {kind.words}"
    if problem.reason == "type_error:nested":
        index = detail.get("index", 0)
        if isinstance(called, list) and isinstance(index, int) and index < len(called):
            element = _CLASS_WORDS.get(type(called[index]), type(called[index]).__name__)
            return f"element {index + 1} is {element}, not {kind.element_word}"
        return f"elements are not all {kind.element_word}"
    if problem.reason in ("type_error:java", "type_error:js"):
        return f"{found}, must be sent as text"
    read = f" (read as {value_text(called, 60)})" if "text" in detail else ""
    if problem.reason == "value_error:dict_key":
        return f"{detail.get('error', 'wrong keys')}{read}"
    if problem.reason == "value_error:dict_value":
        return f"{clean(str(detail.get('key')))!r} must be {allowed_text(detail.get('allowed'), 80)}{read}"
    if problem.reason == "value_error:list_dict_count":
        return f"wrong number of objects{read}"
    words = {
        "value_error:string": "not an allowed text",
        "value_error:list/tuple": "not an allowed list",
        "value_error:others": "not an allowed value",
        "dict_checker:unclear": "no object is allowed",
    }
    return words.get(problem.reason, problem.reason) + read


def _called(arguments: Mapping[Any, Any], parameter: Any, how: CallRules) -> str:
    if parameter not in arguments:
        return "-"
    value = arguments[parameter]
    if how.language != "python" and isinstance(value, str):  # source text: quotes of ours would mislead
        return cut(clean(value[: 2 * FULL]), FULL)
    return value_text(value, FULL)


def _allowed(answers: Any, how: CallRules, *, optional: bool = True) -> str:
    shown = allowed_text(answers, FULL, optional=optional)
    if how.language != "python":
        shown = _PYTHON_WORDS.sub(lambda found: _WORDS[found.group()], shown)
    return shown


def _label(parameter: Any) -> str:
    return "(unnamed)" if parameter is None else clean(str(parameter))[:40]


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> list[Line]:
    """Rows in columns; a text too wide for its column is put in full on lines of its own when it is marked."""
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
