"""Compares one value with its acceptable values (ast_checker spec §6), with the corrected rules C6 and C9–C12.

`check_prepared` is the common part: Java and JavaScript texts are converted before. "Raises" in comments marks input
for which the reference gives no verdict; the broken rule then has ``raises``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import ValueDetails
from pytest_bfcl.checkers.exact import JSON_SCHEMA_WORDS, PYTHON_CLASSES, BrokenValue, ParameterType
from pytest_bfcl.failures import Reason
from pytest_bfcl.json_types import Fields

_FLOAT_WORDS = frozenset({"double"}) | {
    word for table in (PYTHON_CLASSES, JSON_SCHEMA_WORDS) for word, cls in table.items() if cls is float
}
_EMPTY: Fields = {}


def fits(value: object, answer: object, schema: Fields, rules: RuleSet) -> bool:
    """Whether a value is the one acceptable ``answer``; ``schema`` is its property schema, empty when undocumented."""
    if isinstance(answer, Mapping):
        return type(value) is dict and _fits_object(value, answer, schema, rules)
    if type(answer) is list:
        if type(value) is not list or len(value) != len(answer):
            return False
        items = _mapping(schema.get("items"))
        return all(fits(mine, wanted, items, rules) for mine, wanted in zip(value, answer, strict=True))
    if type(answer) is str:
        return type(value) is str and standardise(value) == standardise(answer)
    if answer is None or type(answer) is bool:
        return type(value) is type(answer) and value == answer
    return _fits_number(value, answer, schema, rules)


def fits_key(item: Any, alternatives: Any, key: Any, schema: Fields, rules: RuleSet, *, nested: bool = False) -> bool:
    """Whether the value under ``key`` is allowed; ``schema`` is that of the object it is in."""
    inner = _mapping(_mapping(schema.get("properties")).get(key))
    if type(alternatives) is not list:
        return fits(item, alternatives, inner, rules)
    allowed = alternatives
    if "C9" in rules and "" in alternatives:
        if item == "" and type(item) is str and key in _names(schema.get("required")):
            return True  # cannot be left out, so "" is the empty text itself
        allowed = [answer for answer in alternatives if answer != ""]
        if "default" in inner:
            allowed = [*allowed, inner["default"]]
    if any(fits(item, answer, inner, rules) for answer in allowed):
        return True
    return nested and type(item) is list and fits(item, alternatives, inner, rules)


def _fits_object(value: dict[Any, Any], answer: Mapping[Any, Any], schema: Fields, rules: RuleSet) -> bool:
    if any(key not in answer for key in value):
        return False
    for key, alternatives in answer.items():
        if key in value:
            if not fits_key(value[key], alternatives, key, schema, rules, nested=True):
                return False
        elif not (type(alternatives) is list and "" in alternatives):
            return False
    return True


def _fits_number(value: object, answer: object, schema: Fields, rules: RuleSet) -> bool:
    if type(value) is bool or not isinstance(value, (int, float)) or value != answer:
        return False
    if type(value) is type(answer) or schema.get("type") in _FLOAT_WORDS:
        return True
    return "C6" in rules and type(value) is int


def _mapping(value: object) -> Fields:
    return value if isinstance(value, Mapping) else _EMPTY


def _names(value: object) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else ()


_IGNORED = str.maketrans("", "", " ,./-_*^")


def standardise(text: str) -> str:
    """Without spaces and ``, . / - _ * ^``, lower-case, single quotes as double ones."""
    return text.translate(_IGNORED).lower().replace("'", '"')


MARKER = ""
"""Among the acceptable values: the parameter may be left out."""


def prepare(value: object, kind: ParameterType) -> Any:
    """A Python value before comparison: a tuple for ``tuple`` → list, an int for ``float`` → float (spec §6.1). Raises
    `OverflowError` for an int beyond the range of a double.
    """
    if kind.word == "tuple" and type(value) is tuple:
        return list(value)
    if kind.expected is float and type(value) is int:
        return float(value)
    return value


def check_python(
    value: object,
    kind: ParameterType,
    answers: Sequence[Any],
    rules: RuleSet = OFFICIAL,
    *,
    required: bool = False,
) -> BrokenValue | None:
    """A Python (or native) value and its acceptable values; ``None`` if it is one of them."""
    try:
        value = prepare(value, kind)
    except OverflowError:
        return _broken(reasons.VALUE, answers, value, raises=True)
    return check_prepared(value, kind, answers, rules, required=required)


def check_prepared(
    value: object,
    kind: ParameterType,
    answers: Sequence[Any],
    rules: RuleSet = OFFICIAL,
    *,
    required: bool = False,
) -> BrokenValue | None:
    """A converted value of the entry's language and its acceptable values."""
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
        return BrokenValue(reasons.VALUE, ValueDetails(expected=answers, error="nested too deeply"), raises=True)


def without_marker(answers: Sequence[Any], schema: Fields) -> list[Any]:
    """Acceptable values with ``""`` replaced by the documented default if there is one (C9)."""
    kept = [answer for answer in answers if answer != MARKER]
    if len(kept) < len(answers) and "default" in schema:
        default = schema["default"]
        if isinstance(default, Mapping):
            default = {key: [value] for key, value in default.items()}
        kept.append(default)
    return kept


def _judge_groups(value: object, kind: ParameterType, answers: Sequence[Any], rules: RuleSet) -> BrokenValue | None:
    """C12: alternatives of one class at a time; the first that fits decides, else the expected class."""
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
    told: BrokenValue | None = None
    for family, group in groups.items():
        broken = _judge(value, kind, group + markers, rules)
        if broken is None:
            return None
        if told is None or (kind.expected is not None and family == _family(kind.expected)):
            told = broken
    return told


def _family(cls: type) -> str:
    return "number" if cls in (int, float) else cls.__name__


def _judge(value: Any, kind: ParameterType, answers: Sequence[Any], rules: RuleSet) -> BrokenValue | None:
    """Type, variable rule, then the comparison of the expected class (spec §6.2)."""
    cls = type(value)
    first = next((type(answer) for answer in answers if answer != MARKER), None)
    expected = kind.expected if kind.expected is not None else (first or cls)
    if cls is expected:
        if cls is list:
            broken = _check_elements(value, kind, answers, first, rules)
            if broken is not None:
                return broken
    elif cls is not first:
        return BrokenValue(reasons.TYPE, ValueDetails(type=kind.words, expected=answers, called=value))
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
) -> BrokenValue | None:
    """The element test (spec §6.3): exact classes, one level; an answer that is no list disables it."""
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
    details = ValueDetails(type=kind.words, expected=answers, called=value)
    if first is not list:
        return BrokenValue(reasons.TYPE, details)
    last = next((answer for answer in reversed(answers) if type(answer) is list), [])
    also = next((type(element) for element in last if element != MARKER), None)
    index = next((n for n, element in enumerate(value) if type(element) not in (kind.element, also)), 0)
    details.index = index
    return BrokenValue(reasons.ELEMENT_TYPE, details)


def _equal_one(value: object, answers: Sequence[Any], rules: RuleSet) -> BrokenValue | None:
    """Python equality with one acceptable value (spec §6.2 variable mode, §6.5); under C6 a bool is never a number."""
    if "C6" in rules:
        is_bool = type(value) is bool
        answers_of_class: Iterable[Any] = (a for a in answers if (type(a) is bool) == is_bool)
    else:
        answers_of_class = answers
    if any(value == answer for answer in answers_of_class):
        return None
    return _broken(reasons.VALUE, answers, value)


def _check_text(value: str, answers: Sequence[Any]) -> BrokenValue | None:
    """Standardised comparison of texts (spec §6.4)."""
    wanted = standardise(value)
    if any(type(answer) is str and standardise(answer) == wanted for answer in answers):
        return None
    return _broken(reasons.TEXT, answers, value)


def _standard_elements(values: Iterable[Any]) -> list[Any]:
    return [standardise(element) if type(element) is str else element for element in values]


def _check_list(value: list[Any], answers: Sequence[Any], schema: Fields, rules: RuleSet) -> BrokenValue | None:
    """Ordered equality of lists, text elements standardised one level deep (spec §6.7)."""
    lists = answers
    if "C11" in rules:
        lists = [answer for answer in answers if type(answer) is not str or answer == MARKER]
    # The reference prepares all alternatives before it compares any: one without elements raises.
    if any(not isinstance(answer, (list, str)) and answer != {} for answer in lists):
        return _broken(reasons.LIST, answers, value, raises=True)
    if "C10" in rules:
        if any(fits(value, list(answer) if type(answer) is str else answer, schema, rules) for answer in lists):
            return None
        return _broken(reasons.LIST, answers, value)
    mine = _standard_elements(value)
    if any(mine == _standard_elements(answer) for answer in lists):
        return None
    return _broken(reasons.LIST, answers, value)


def check_object(
    value: object, answers: Sequence[Any], schema: Fields, rules: RuleSet = OFFICIAL
) -> BrokenValue | None:
    """An object compared with alternatives of the form ``{key: [acceptable values]}`` (spec §6.6)."""
    told: BrokenValue | None = None
    for answer in answers:
        if answer == MARKER:
            continue
        if type(value) is not dict:
            return _broken(reasons.ELEMENT_TYPE, answers, value, raises=True)
        if not isinstance(answer, Mapping):
            return _broken(told.reason if told else reasons.VALUE, answers, value, raises=True)
        told = _check_alternative(value, answer, schema, rules)
        if told is None:
            return None
        if told.raises:
            break
    if told is None:
        return _broken(reasons.NO_OBJECT, answers, value)
    told.details.fill(answers, value)
    return told


def _check_alternative(value: Mapping[Any, Any], answer: Fields, schema: Fields, rules: RuleSet) -> BrokenValue | None:
    """One alternative: known keys, allowed values, then missing keys, whose error replaces earlier ones."""
    broken: BrokenValue | None = None
    for key, item in value.items():
        if key not in answer:
            broken = _broken_key(key, "unexpected")
            break
        alternatives = answer[key]
        if "C10" in rules:
            good = fits_key(item, alternatives, key, schema, rules)
        elif not isinstance(alternatives, (list, str)) and alternatives != {}:
            return BrokenValue(reasons.OBJECT_VALUE, ValueDetails(key=key, allowed=alternatives), raises=True)
        else:
            if "C9" in rules:
                alternatives = [a for a in alternatives if a != MARKER]
            mine = standardise(item) if type(item) is str else item
            good = any(mine == (standardise(a) if type(a) is str else a) for a in alternatives)
        if not good:
            broken = BrokenValue(reasons.OBJECT_VALUE, ValueDetails(key=key, allowed=alternatives, found=item))
            break
    for key, alternatives in answer.items():
        if key in value:
            continue
        if type(alternatives) is not list and "C10" in rules:
            return _broken_key(key, "missing")
        if not isinstance(alternatives, (list, str, Mapping)):
            return _broken_key(key, "missing", raises=True)
        if MARKER not in alternatives:
            return _broken_key(key, "missing")
    return broken


def _broken_key(key: object, how: str, *, raises: bool = False) -> BrokenValue:
    return BrokenValue(reasons.OBJECT_KEY, ValueDetails(key=key, error=f"{how} key {key!r}"), raises)


def _broken(reason: Reason, answers: Sequence[Any], value: object, *, raises: bool = False) -> BrokenValue:
    return BrokenValue(reason, ValueDetails(expected=answers, called=value), raises)


def _check_objects(value: list[Any], answers: Sequence[Any], schema: Fields, rules: RuleSet) -> BrokenValue | None:
    """A list of objects, each compared with the single object at its position (spec §6.8)."""
    items = schema.get("items")
    item_schema = items if isinstance(items, Mapping) else {}
    told = _broken(reasons.OBJECT_COUNT, answers, value)
    for answer in answers:
        if "C11" in rules and type(answer) is str and answer != MARKER:
            continue
        if not isinstance(answer, (list, str, Mapping)):
            return _broken(reasons.OBJECT_COUNT, answers, value, raises=True)
        if len(answer) != len(value):
            told = _broken(reasons.OBJECT_COUNT, answers, value)
            continue
        if isinstance(answer, Mapping) and answer:
            return _broken(reasons.OBJECT_COUNT, answers, value, raises=True)
        for index, (item, wanted) in enumerate(zip(value, answer, strict=True)):
            broken = check_object(item, [wanted], item_schema, rules)
            if broken is not None:
                told, details = broken, broken.details
                details.expected, details.called, details.index = answers, value, index
                break
        else:
            return None
        if told.raises:
            return told
    return told
