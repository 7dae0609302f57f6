"""One value against its acceptable values (ast_checker spec §6), with the corrected rules C6 and C9–C12.

`check_prepared` is the common core: Java and JavaScript texts arrive here already converted. "Raises" in comments
marks input on which the reference gives no verdict; the problem then carries ``raises``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.nesting import fits, fits_key
from pytest_bfcl.checkers.problem import Problem
from pytest_bfcl.checkers.standard import standardise
from pytest_bfcl.checkers.types import ParameterType

MARKER = ""
"""Among the acceptable values: the parameter may be left out."""


def prepare(value: Any, kind: ParameterType) -> Any:
    """A Python value before any test: a tuple for ``tuple`` → list, an int for ``float`` → float (spec §6.1).

    Raises `OverflowError` for an int beyond the range of a double.
    """
    if kind.word == "tuple" and type(value) is tuple:
        return list(value)
    if kind.expected is float and type(value) is int:
        return float(value)
    return value


def check_python(
    value: Any,
    kind: ParameterType,
    answers: Sequence[Any],
    rules: RuleSet = OFFICIAL,
    *,
    required: bool = False,
) -> Problem | None:
    """A Python (or native) value against its acceptable values; ``None`` when it is one of them."""
    try:
        value = prepare(value, kind)
    except OverflowError:
        return Problem("value_error:others", {"expected": answers, "called": value}, raises=True)
    return check_prepared(value, kind, answers, rules, required=required)


def check_prepared(
    value: Any,
    kind: ParameterType,
    answers: Sequence[Any],
    rules: RuleSet = OFFICIAL,
    *,
    required: bool = False,
) -> Problem | None:
    """A value of the entry's language, already converted, against its acceptable values."""
    try:
        if not rules:
            return _judge(value, kind, answers, rules)
        if "C9" in rules:
            if required and kind.expected is str and value == MARKER and type(value) is str and MARKER in answers:
                return None  # cannot be left out, so the marker can only mean the empty text itself
            answers = without_marker(answers, kind.schema)
        if "C12" in rules:
            return _judge_groups(value, kind, answers, rules)
        return _judge(value, kind, answers, rules)
    except RecursionError:
        return Problem("value_error:others", {"expected": answers, "error": "nested too deeply"}, raises=True)


def without_marker(answers: Sequence[Any], schema: Mapping[str, Any]) -> list[Any]:
    """Acceptable values without ``""``, its place taken by the documented default if there is one (C9)."""
    kept = [answer for answer in answers if answer != MARKER]
    if len(kept) < len(answers) and "default" in schema:
        default = schema["default"]
        if isinstance(default, Mapping):
            default = {key: [value] for key, value in default.items()}
        kept.append(default)
    return kept


def _judge_groups(value: Any, kind: ParameterType, answers: Sequence[Any], rules: RuleSet) -> Problem | None:
    """C12: alternatives of one class at a time; the first that fits decides, else the expected class's problem."""
    groups: dict[str, list[Any]] = {}
    for answer in answers:
        if answer != MARKER:
            family = _family(type(answer))
            if family == "str" and type(value) is list and "C11" not in rules:
                family = "list"  # compared character by character
            groups.setdefault(family, []).append(answer)
    if len(groups) < 2:
        return _judge(value, kind, answers, rules)
    markers = [MARKER] if MARKER in answers else []
    told: Problem | None = None
    for family, group in groups.items():
        problem = _judge(value, kind, group + markers, rules)
        if problem is None:
            return None
        if told is None or (kind.expected is not None and family == _family(kind.expected)):
            told = problem
    return told.about(expected=answers) if told else None


def _family(cls: type) -> str:
    return "number" if cls in (int, float) else cls.__name__


def _judge(value: Any, kind: ParameterType, answers: Sequence[Any], rules: RuleSet) -> Problem | None:
    """Type, variable rule, then the comparison that belongs to the expected class (spec §6.2)."""
    cls = type(value)
    first = next((type(answer) for answer in answers if answer != MARKER), None)
    expected = kind.expected if kind.expected is not None else (first or cls)
    if cls is expected:
        if cls is list and kind.expected is list:
            problem = _check_elements(value, kind, answers, first, rules)
            if problem is not None:
                return problem
    elif cls is not first:
        return Problem("type_error:simple", {"type": kind.words, "expected": answers, "called": value})
    if first is not None and first is not expected:
        return _equal_one(value, answers, rules)
    if expected is str:
        return _check_text(value, answers)
    if expected is dict:
        return check_object(value, answers, kind.schema, rules)
    if expected is list:
        if kind.element is dict:
            return _check_objects(value, answers, kind.schema, rules)
        return _check_list(value, answers, kind.schema, rules)
    return _equal_one(value, answers, rules)


def _check_elements(
    value: list[Any], kind: ParameterType, answers: Sequence[Any], first: type | None, rules: RuleSet
) -> Problem | None:
    """The element test (spec §6.3): exact classes, one level; any answer that is not a list switches it off."""
    if kind.element is None:
        return None  # no documented element type: the reference raises, here the comparison decides
    classes = {type(element) for element in value}
    for answer in answers:
        if type(answer) is not list:
            if "C11" in rules and type(answer) is str and answer != MARKER:
                continue
            return None
        also = next((type(element) for element in answer if element != MARKER), None)
        allowed = {kind.element, also}
        if "C6" in rules and float in allowed:
            allowed.add(int)
        if classes <= allowed:
            return None
    detail = {"type": kind.words, "expected": answers, "called": value}
    if first is not list:
        return Problem("type_error:simple", detail)
    last = next((answer for answer in reversed(answers) if type(answer) is list), [])
    also = next((type(element) for element in last if element != MARKER), None)
    index = next((n for n, element in enumerate(value) if type(element) not in (kind.element, also)), 0)
    return Problem("type_error:nested", {**detail, "index": index})


def _equal_one(value: Any, answers: Sequence[Any], rules: RuleSet) -> Problem | None:
    """Python equality with one acceptable value (spec §6.2 variable mode, §6.5); under C6 a bool is never a number."""
    if "C6" in rules:
        is_bool = type(value) is bool
        answers_of_class: Iterable[Any] = (a for a in answers if (type(a) is bool) == is_bool)
    else:
        answers_of_class = answers
    if any(value == answer for answer in answers_of_class):
        return None
    return Problem("value_error:others", {"expected": answers, "called": value})


def _check_text(value: str, answers: Sequence[Any]) -> Problem | None:
    """Standardised comparison of texts (spec §6.4)."""
    if value in answers:
        return None
    wanted = standardise(value)
    if any(type(answer) is str and standardise(answer) == wanted for answer in answers):
        return None
    return Problem("value_error:string", {"expected": answers, "called": value})


def _standard_elements(values: Iterable[Any]) -> list[Any]:
    return [standardise(element) if type(element) is str else element for element in values]


def _check_list(value: list[Any], answers: Sequence[Any], schema: Mapping[str, Any], rules: RuleSet) -> Problem | None:
    """Ordered equality of lists, text elements standardised one level deep (spec §6.7)."""
    detail = {"expected": answers, "called": value}
    if "C11" in rules:
        answers = [answer for answer in answers if type(answer) is not str or answer == MARKER]
    # The reference prepares all alternatives before it compares any: one without elements raises.
    if any(not isinstance(answer, (list, str)) and answer != {} for answer in answers):
        return Problem("value_error:list/tuple", detail, raises=True)
    if "C10" in rules:
        alternatives = [list(answer) if type(answer) is str else answer for answer in answers]
        if any(type(answer) is list and fits(value, answer, schema, rules) for answer in alternatives):
            return None
        return Problem("value_error:list/tuple", detail)
    mine = _standard_elements(value)
    if any(mine == _standard_elements(answer) for answer in answers):
        return None
    return Problem("value_error:list/tuple", detail)


def check_object(
    value: Any, answers: Sequence[Any], schema: Mapping[str, Any], rules: RuleSet = OFFICIAL
) -> Problem | None:
    """An object against alternatives of the form ``{key: [acceptable values]}`` (spec §6.6)."""
    told: Problem | None = None
    for answer in answers:
        if answer == MARKER:
            continue
        if type(value) is not dict:
            return Problem("type_error:nested", {"expected": answers, "called": value}, raises=True)
        if not isinstance(answer, Mapping):
            reason = told.reason if told else "value_error:others"
            return Problem(reason, {"expected": answers, "called": value}, raises=True)
        told = _check_alternative(value, answer, schema, rules)
        if told is None:
            return None
        if told.raises:
            return told.about(expected=answers, called=value)
    if told is None:
        return Problem("dict_checker:unclear", {"expected": answers, "called": value})
    return told.about(expected=answers, called=value)


def _check_alternative(
    value: Mapping[Any, Any], answer: Mapping[str, Any], schema: Mapping[str, Any], rules: RuleSet
) -> Problem | None:
    """One alternative: known keys, allowed values, then the keys left out, whose error comes last and replaces."""
    problem: Problem | None = None
    for key, item in value.items():
        if key not in answer:
            problem = Problem("value_error:dict_key", {"key": key, "error": f"unexpected key {key!r}"})
            break
        alternatives = answer[key]
        if "C10" in rules:
            good = fits_key(item, alternatives, key, schema, rules)
        elif not isinstance(alternatives, (list, str)) and alternatives != {}:
            return Problem("value_error:dict_value", {"key": key, "allowed": alternatives}, raises=True)
        else:
            if "C9" in rules:
                alternatives = [a for a in alternatives if a != MARKER]
            mine = standardise(item) if type(item) is str else item
            good = any(mine == (standardise(a) if type(a) is str else a) for a in alternatives)
        if not good:
            problem = Problem("value_error:dict_value", {"key": key, "allowed": alternatives, "found": item})
            break
    for key, alternatives in answer.items():
        if key in value:
            continue
        missing = Problem("value_error:dict_key", {"key": key, "error": f"missing key {key!r}"})
        if type(alternatives) is not list and "C10" in rules:
            return missing
        if not isinstance(alternatives, (list, str, Mapping)):
            return replace(missing, raises=True)
        if MARKER not in alternatives:
            return missing
    return problem


def _check_objects(
    value: list[Any], answers: Sequence[Any], schema: Mapping[str, Any], rules: RuleSet
) -> Problem | None:
    """A list of objects, each against the single object at its place (spec §6.8)."""
    items = schema.get("items")
    item_schema = items if isinstance(items, Mapping) else {}
    detail = {"expected": answers, "called": value}
    told = Problem("value_error:list_dict_count", detail)
    for answer in answers:
        if "C11" in rules and type(answer) is str and answer != MARKER:
            continue
        if not isinstance(answer, (list, str, Mapping)):
            return Problem("value_error:list_dict_count", detail, raises=True)
        if len(answer) != len(value):
            told = Problem("value_error:list_dict_count", detail)
            continue
        if isinstance(answer, Mapping) and answer:
            return Problem("value_error:list_dict_count", detail, raises=True)
        for index, (item, wanted) in enumerate(zip(value, answer, strict=True)):
            problem = check_object(item, [wanted], item_schema, rules)
            if problem is not None:
                told = Problem(problem.reason, {**problem.detail, **detail, "index": index}, problem.raises)
                break
        else:
            return None
        if told.raises:
            return told
    return told
