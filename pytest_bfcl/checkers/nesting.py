"""Corrected rule C10: values inside lists and objects, compared at every depth and with their classes.

Inside an object an answer may stand in either of two notations: key → list of alternatives (as at the top), or the
literal value. Both are honoured below the top, where the data use both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_bfcl.checkers.corrected import RuleSet
from pytest_bfcl.checkers.standard import standardise
from pytest_bfcl.checkers.types import JSON_SCHEMA_WORDS, PYTHON_CLASSES
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


def fits_key(item: Any, alternatives: Any, key: Any, schema: Fields, rules: RuleSet, depth: int = 0) -> bool:
    """Whether the value under ``key`` is allowed; ``schema`` is that of the object it stands in."""
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
    return depth > 0 and type(item) is list and fits(item, alternatives, inner, rules)


def _fits_object(value: dict[Any, Any], answer: Mapping[Any, Any], schema: Fields, rules: RuleSet) -> bool:
    if any(key not in answer for key in value):
        return False
    for key, alternatives in answer.items():
        if key in value:
            if not fits_key(value[key], alternatives, key, schema, rules, depth=1):
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
