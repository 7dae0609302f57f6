"""Compares answers with requests: values that were not requested, and requested ones that the answer refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.lab.literals import Pool, dates, listed, literals, numbers, words
from pytest_bfcl.extensions.lab.request_rules import messages_text
from pytest_bfcl.extensions.lab.rules import Defect
from pytest_bfcl.json_types import Fields

DAYS = listed("monday tuesday wednesday thursday friday saturday sunday")
_HELPERS = frozenset(
    listed(
        """is has have include included with from this that which where when show get set enable allow use should return
        number count amount per max min of the no to if for or not and any whether flag indicates indicating indicate
        determines true false string default dontcare boolean parameter optional choose yes name type types value
        values list"""
    )
)
"""Words of a parameter's name and description without information."""
_DATE_LIKE = re.compile(r"(?<![\w./-])(\d{4,5})-(\d{1,2})-(\d{1,2})(?![\w/-])")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)
_DAY_OF_DATE = re.compile(
    rf"\b({'|'.join(DAYS)})\b[\s,(]*(?:(?:the|is|on|specifically)\s+)?"
    r"(\d{4}[-/]\d{1,2}[-/]\d{1,2}\b|[a-z]{3,9}\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4}\b"
    r"|\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?[a-z]{3,9}\.?,?\s+\d{4}\b)",
    re.IGNORECASE,
)
_FOLLOWING = frozenset(
    listed("hemisphere language locale timezone unit units country region province currency gender user accent")
)
"""Parameters whose value follows from a place or person in the request."""
_PLACE = re.compile(r"\b([A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*), ([A-Z][\w.]+(?: [A-Z][\w.]+)?)")
_PLACES = frozenset(listed("city location place where destination origin address airport town area venue"))
_QUOTED = re.compile(r"(?<!\w)['\"‘“]([^'\"‘’“”]{1,80})['\"’”](?!\w)")
_MOST = frozenset(listed("maximum max maximal largest highest most minimum min minimal smallest lowest all"))
_NO_DEFAULT = object()
_TOLD_DEFAULT = re.compile(r"default(?:s)?(?: value)?(?: is| to|:)?\s+['\"]?(true|false)\b", re.IGNORECASE)
_NEAR = 3
"""Words between a number and the parameter's word up to which the number counts as its value."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of one expected call; ``values`` are the accepted ones, ``""`` makes it optional."""

    place: str
    name: str
    schema: Fields
    required: bool
    values: list[Any]
    function: str

    @property
    def default(self) -> Any:
        """The documented default: of the schema, or of yes and no in the description."""
        if "default" in self.schema:
            return self.schema["default"]
        told = _TOLD_DEFAULT.search(str(self.schema.get("description", "")))
        return told[1].lower() == "true" if told and str(self.schema.get("type")).lower() == "boolean" else _NO_DEFAULT

    @property
    def given_values(self) -> list[Any]:
        """The accepted values besides leaving it out."""
        return [value for value in self.values if value != ""]

    @property
    def about(self) -> set[str]:
        """The significant words of its name."""
        return _content(self.name)

    @property
    def words(self) -> set[str]:
        """The words of its name, and those of its description that the function's does not have."""
        return self.about | (_content(str(self.schema.get("description", ""))) - _content(self.function))


def _content(text: str) -> set[str]:
    return {word for word in words(text) if word not in _HELPERS and len(word) > 2}


def answer_defects(entry: Entry) -> Iterator[Defect]:
    """Defects of a single-turn entry's answer against its request and the documents."""
    if entry.row.checker != "ast":
        return
    said = messages_text(entry)
    asked = Pool()
    asked.add(said)
    yield from _days(entry.id, said)
    arguments = list(arguments_of(entry))
    accepted = [_tight(str(value)) for argument in arguments for value in literals(argument.given_values)]
    for argument in arguments:
        for rule, message in (
            *_no_such_date(argument),
            *_default_only(argument),
            *_unasked_values(argument, said, asked),
            *_percent(argument, said),
            *_refused(argument, said, accepted),
            *_odd_one_out(argument, arguments),
            *_other_choice(argument, said, accepted),
            *_cut_short(argument, said, accepted),
        ):
            yield Defect(rule, entry.id, message, argument.place, (f"acceptable: {_short(argument.values)}",))


def arguments_of(entry: Entry) -> Iterator[Argument]:
    """Every documented parameter of every expected call."""
    documents = {str(function.get("name")): function.get("parameters") for function in entry.function}
    documents_text = {str(function.get("name")): str(function.get("description", "")) for function in entry.function}
    for number, call in enumerate(entry.possible_answer or ()):
        for name, answer in call.items() if isinstance(call, dict) else ():
            parameters = documents.get(name)
            properties = parameters.get("properties") if isinstance(parameters, dict) else None
            required = parameters.get("required") if isinstance(parameters, dict) else None
            for parameter, values in answer.items() if isinstance(answer, dict) else ():
                schema = properties.get(parameter) if isinstance(properties, dict) else None
                if isinstance(values, list) and isinstance(schema, dict):
                    place = f"possible_answer[{number}].{name}.{parameter}"
                    told = f"{name} {documents_text.get(name, '')}"
                    yield Argument(place, parameter, schema, parameter in (required or ()), values, told)


def _no_such_date(argument: Argument) -> Iterator[tuple[str, str]]:
    for value in literals(argument.given_values):
        for found in _DATE_LIKE.finditer(value) if isinstance(value, str) else ():
            if _day(*map(int, found.groups())) is None:
                yield "no_such_date", f"{found[0]} is no day of the calendar"
                return


def _default_only(argument: Argument) -> Iterator[tuple[str, str]]:
    """The documented default is accepted, but leaving the parameter out, which means the same, is not."""
    if not argument.required and "" not in argument.values and "default" in argument.schema:
        default = argument.schema["default"]
        if any(_same(value, default) for value in argument.values):
            yield "default_only", f"{_short(default)} is the default and has to be written out"


def _unasked_values(argument: Argument, said: str, asked: Pool) -> Iterator[tuple[str, str]]:
    """An optional parameter requires a value that the request does not give."""
    default, given = argument.default, argument.given_values
    if argument.required or len(given) < len(argument.values) or not given or default is _NO_DEFAULT:
        return
    if _FOLLOWING & argument.about:
        return
    if any(_same(value, default) for value in given):
        return
    if all(isinstance(value, bool) or str(value).lower() in ("true", "false") for value in given):
        told = not argument.words or any(asked.has_word(word) for word in argument.words)
    else:
        told = any(_is_told(value, said, asked) for value in literals(given)) or not list(literals(given))
    if not told:
        yield "unasked", f"{_short(given[0])} is expected instead of the default {_short(default)}, and nothing says it"


def _is_told(value: Any, said: str, asked: Pool) -> bool:
    if not isinstance(value, str):
        return asked.has_number(float(value))
    if any(character.isdigit() for character in value):
        return any(character.isdigit() for character in said) or bool(numbers(said))
    return not words(value) or any(asked.has_word(word) for word in words(value))


def _percent(argument: Argument, said: str) -> Iterator[tuple[str, str]]:
    """The unit is documented, the request has percent, and the answer is in the other unit."""
    told = f"{argument.name} {argument.schema.get('description', '')}".lower()
    as_percent = "percent" in told and "decimal" not in told and "fraction" not in told
    as_fraction = ("decimal" in told or "fraction" in told) and "percent" not in told
    given = [float(v) for v in argument.given_values if isinstance(v, int | float) and not isinstance(v, bool)]
    if not given or as_percent == as_fraction:
        return
    for percent in map(float, _PERCENT.findall(said)):
        right, wrong = (percent, percent / 100) if as_percent else (percent / 100, percent)
        if any(_close(v, wrong) for v in given) and not any(_close(v, right) for v in given) and percent:
            unit = "a percentage" if as_percent else "a fraction"
            yield "percent_or_fraction", f"{unit} is documented, the request says {percent:g} percent"
            return


def _days(entry_id: str, said: str) -> Iterator[Defect]:
    """A weekday next to a date of another weekday."""
    for found in _DAY_OF_DATE.finditer(said):
        for year, month, day in dates(found[2]):
            when = _day(year, month, day)
            if when is not None and DAYS[when.weekday()] != found[1].lower():
                message = f"{when.isoformat()} is called a {found[1].lower()} and is a {DAYS[when.weekday()]}"
                yield Defect("weekday_contradicted", entry_id, message, "question")
                return


def _refused(argument: Argument, said: str, accepted: list[str]) -> Iterator[tuple[str, str]]:
    """Only the default is accepted, but the request gives a value."""
    if argument.required or not _only_default(argument):
        return
    spoken, about = words(said), {word.rstrip("s") for word in argument.about}
    allowed = argument.schema.get("enum")
    for position, word in enumerate(spoken):
        here = {each.rstrip("s") for each in spoken[max(0, position - _NEAR) : position + 1]}
        if word.rstrip("s") not in about or not about <= here or not _is_numeric(argument):
            continue
        before = spoken[position - 1] if position else ""
        named = [number for number in numbers(before) if before not in ("a", "an", "first", "last", "second", "single")]
        if isinstance(allowed, list):
            named = [number for number in named if any(_same_number(each, number) for each in allowed)]
        if named and not any(_same_number(argument.default, number) for number in named):
            yield "request_refused", f"the request says {named[0]:g} {word}, only the default is accepted"
            return
        if _MOST & set(spoken[max(0, position - _NEAR) : position]) and len(about) == 1:
            yield "request_refused", f"the request asks for an extreme {word}, only the default is accepted"
            return
    quoted = [text for text in _QUOTED.findall(said) if _tight(text)]
    if argument.values == [""] and about and about <= {word.rstrip("s") for word in spoken}:
        left = [text for text in quoted if not any(_tight(text) in each for each in accepted)]
        if left:
            yield "request_refused", f"the request gives {left[0]!r}, which no accepted value has"


def _only_default(argument: Argument) -> bool:
    default = argument.default
    return bool(argument.values) and all(
        value == "" or (default is not _NO_DEFAULT and _same(value, default)) for value in argument.values
    )


def _odd_one_out(argument: Argument, arguments: list[Argument]) -> Iterator[tuple[str, str]]:
    """All other calls of the function, at least two, require a value where this one requires none."""
    others = [each for each in arguments if each is not argument and each.name == argument.name
              and each.function == argument.function]  # fmt: skip
    if argument.values == [""] and len(others) > 1 and all(each.given_values == each.values for each in others):
        yield "request_refused", f"the other {len(others)} calls have a value, here it has to be left out or empty"


def _is_numeric(argument: Argument) -> bool:
    allowed = argument.schema.get("enum")
    if isinstance(allowed, list):
        return any(str(each).isdigit() for each in allowed)
    return str(argument.schema.get("type")) in ("integer", "float", "number", "long", "double")


def _same_number(value: Any, number: float) -> bool:
    try:
        return _close(float(value), number)
    except (TypeError, ValueError):
        return False


def _other_choice(argument: Argument, said: str, accepted: list[str]) -> Iterator[tuple[str, str]]:
    """The request uses the word of one choice of the enum, which the entry accepts nowhere."""
    allowed = argument.schema.get("enum")
    if not isinstance(allowed, list) or not argument.given_values:
        return
    lowered = f" {' '.join(words(said))} "
    choices = [each for each in allowed if isinstance(each, str) and len(each) > 3]
    named = [each for each in choices if f" {' '.join(words(each))} " in lowered]
    if len(named) != 1 or any(_tight(named[0]) in each for each in accepted):
        return
    if not any(
        f" {word}" in lowered for value in argument.given_values if isinstance(value, str) for word in words(value)
    ):
        yield "enum_contradicted", f"the request says {named[0]!r}, which is a choice and not accepted"


def _cut_short(argument: Argument, said: str, accepted: list[str]) -> Iterator[tuple[str, str]]:
    """A place is accepted with another second part than the request's, or without it."""
    if not _PLACES & set(words(f"{argument.name} {argument.schema.get('description', '')}")):
        return
    given = [value for value in argument.given_values if isinstance(value, str)]
    for place, region in _PLACE.findall(said):
        first = _tight(region.partition(" ")[0])
        elsewhere = any(each.startswith(first) for each in accepted)
        whole = any(_tight(value).startswith(_tight(place) + first) for value in given)
        if not elsewhere and not whole and any(_tight(value.partition(",")[0]) == _tight(place) for value in given):
            yield "cut_short", f"the request writes {place}, {region}"
            return


def _tight(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b) or (isinstance(a, str) and isinstance(b, str) and _tight(a) == _tight(b) != "")


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(1.0, abs(a))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 160 else text[:157] + "..."
