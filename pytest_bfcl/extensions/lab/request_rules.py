"""Compares requests with accepted values: dates, numbers, values that exclude each other.

Also sorts the findings of the checks before a run and of the lint into the table of defects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.entry_checks import check_entry
from pytest_bfcl.dataset.schemas import Finding
from pytest_bfcl.extensions.lab.literals import FACTORS, dates, literals, numbers, texts_in
from pytest_bfcl.extensions.lab.rules import Defect
from pytest_bfcl.extensions.own.own_entry import lint_entry, words

_BY_MESSAGE: tuple[tuple[str, str], ...] = (
    (r"^no possible_answer|^no SQL", "no_answer"),
    (r"a message has no content|: role ", "bad_message"),
    (r"^turn \d+ is empty", "empty_turn"),
    (r"^not one call in Python syntax", "not_a_call"),
    (r"^the answer calls .* which is not offered", "unknown_function"),
    (r"the answer names a parameter the function does not have", "unknown_parameter"),
    (r"acceptable values is empty", "empty_values"),
    (r"^required, but", "required_unanswered"),
    (r"required parameter .* is not documented", "required_undocumented"),
    (r"entries expect one call, the answer has", "several_calls"),
    (r"is not one the checkers know", "unknown_type"),
    (r"have one name on the wire", "wire_clash"),
    (r"turns in the question, \d+ in the answer", "turns_mismatch"),
    (r"^held-out functions arrive at turn", "late_functions"),
    (r"^an acceptable answer is a non-empty text", "empty_text"),
    (r"is not in the enum", "outside_enum"),
    (r"^nothing in the request says this value", "unmentioned"),
    (r"description says nothing|described word for word", "says_nothing"),
    (r"a model cannot tell", "twin_tools"),
)
"""Message → rule; others are ``malformed``."""

_STYLE = ("no description", '"parameters.type" is', "has more than", "is no ", "unknown field")
"""Findings about style, or those that `schema_rules` gives in more detail."""

OWN_ONLY = frozenset({"unmentioned", "says_nothing", "twin_tools"})
"""Rules about words: for own data; third-party data has too many findings."""


def entry_defects(entry: Entry, *, words: bool) -> Iterator[Defect]:
    """Defects of one entry alone; ``words``: also those of the lint for own entries."""
    findings = [finding for finding in check_entry(entry) if _counts(entry, finding)]
    told: set[tuple[str, str]] = set()
    for finding in [*findings, *(lint_entry(entry) if words else ())]:
        rule = _rule_of(finding)
        # The schema rules tell values outside the enum and of other types in more detail.
        if rule == "outside_enum" or (rule == "malformed" and finding.severity == "warning"):
            continue
        if rule == "says_nothing" and ".parameters." in finding.field:
            continue  # of a parameter its name may say enough
        if (rule, finding.field) not in told:
            told.add((rule, finding.field))
            yield Defect(rule, entry.id, finding.message, finding.field)


def _counts(entry: Entry, finding: Finding) -> bool:
    return finding.severity == "error" or _rule_of(finding) != "malformed"


def _rule_of(finding: Finding) -> str:
    if any(text in finding.message for text in _STYLE):
        return "malformed" if finding.severity == "error" else "outside_enum"
    named = next((rule for pattern, rule in _BY_MESSAGE if re.search(pattern, finding.message)), "malformed")
    if named == "wire_clash" and len(set(re.findall(r"'([^']*)'", finding.message))) == 1:
        return "function_twice"
    return named


FITTING = 0.75
"""Share of a function's words (name and description) in a request from which it seems to fit."""
FEWEST_WORDS = 3
_FOLLOWING = re.compile(
    r"\b(after|before|until|days|weeks?|months?|later|next|night|from|since|every)\b", re.IGNORECASE
)


def request_defects(entry: Entry) -> Iterator[Defect]:
    """Defects of a single-turn entry's answer against its request."""
    if entry.row.checker == "irrelevance":
        yield from _fitting(entry)
    if entry.row.checker != "ast":
        return
    said = messages_text(entry)
    for place, values in _accepted(entry):
        yield from _contradictions(entry.id, values, place)
        yield from _dates(entry.id, said, values, place)
    yield from _numbers(entry, said)


def messages_text(entry: Entry) -> str:
    """All messages of an entry."""
    return "\n".join(str(message.get("content") or "") for turn in entry.question for message in turn)


def _accepted(entry: Entry) -> Iterator[tuple[str, list[Any]]]:
    """Place and acceptable values of every parameter of every expected call, without ``""``."""
    for number, call in enumerate(entry.possible_answer or ()):
        for name, answer in call.items() if isinstance(call, dict) else ():
            for parameter, values in answer.items() if isinstance(answer, dict) else ():
                if isinstance(values, list):
                    yield f"possible_answer[{number}].{name}.{parameter}", [v for v in values if v != ""]


def _contradictions(entry_id: str, values: list[Any], place: str) -> Iterator[Defect]:
    days = [found for value in values if isinstance(value, str) and len(found := dates(value)) == 1]
    # Day and month may be either where the request leaves it open.
    if len({(y, *sorted((m, d))) for found in days for y, m, d in found}) > 1:
        yield Defect("contradictory_values", entry_id, f"two dates are acceptable: {_short(values)}", place)
    elif True in values and False in values and all(isinstance(value, bool) for value in values):
        yield Defect("either_way", entry_id, f"yes and no are acceptable: {_short(values)}", place)


def _dates(entry_id: str, said: str, values: list[Any], place: str) -> Iterator[Defect]:
    """The request has dates, but not the expected one."""
    named = dates(said)
    wanted = {day for value in values if isinstance(value, str) for day in dates(value)}
    if not named or not wanted or named & wanted or {(year, day, month) for year, month, day in named} & wanted:
        return
    if _FOLLOWING.search(said):
        return  # a day that follows from another
    message = f"the request says {_days(named)}, acceptable is {_days(wanted)}"
    yield Defect("date_contradicted", entry_id, message, place, (_short(values),))


def _days(found: set[tuple[int, int, int]]) -> str:
    return ", ".join(f"{y:04}-{m:02}-{d:02}" for y, m, d in sorted(found))


def _numbers(entry: Entry, said: str) -> Iterator[Defect]:
    """The request has one number, the answer requires another, and no relation connects them."""
    shown = set(numbers(said))
    if len(shown) != 1 or dates(said) or len(re.findall(r"\d+", said)) != 1:
        return
    (number,) = shown
    given = [
        (place, values)
        for place, values in _accepted(entry)
        if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ]
    if len(given) != 1:
        return
    place, values = given[0]
    known = {number * factor for factor in FACTORS} | {number / factor for factor in FACTORS} | {0.0, 1.0}
    known |= {-number, number + 1900, number + 2000}  # down instead of up, a year in two digits
    documented = [float(n) for text in texts_in(entry.function) for n in numbers(text)]
    if any(abs(value - each) < 1e-6 * max(1, abs(value)) for value in values for each in (*known, *documented)):
        return
    elsewhere = [n for _, others in _accepted(entry) for value in literals(others) for n in numbers(str(value))]
    if number in [n for n in elsewhere if n not in values]:
        return
    message = f"the request says {number:g}, acceptable is {_short(values)}"
    yield Defect("number_contradicted", entry.id, message, place)


def _fitting(entry: Entry) -> Iterator[Defect]:
    """A function whose words the request uses, and which has few required parameters."""
    asked = words(messages_text(entry))
    for number, function in enumerate(entry.function):
        named = words(str(function.get("name", "")).replace(".", " "))
        told = words(str(function.get("description", "")))
        core = named | told
        both = core & asked
        if len(both) >= FEWEST_WORDS and named <= asked and len(both) >= FITTING * len(core):
            message = f"{function.get('name')}: the request uses {len(both)} of its {len(core)} words"
            yield Defect("function_fits", entry.id, message, f"function[{number}]")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 160 else text[:157] + "..."
