"""Arguments of Java and JavaScript functions: text → value of the language → the common value check (spec §7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_bfcl.checkers import java, javascript
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.problem import Problem
from pytest_bfcl.checkers.types import ParameterType
from pytest_bfcl.checkers.values import check_prepared

_TAGS = {"java": "type_error:java", "javascript": "type_error:js"}
_RULES = {"java": "C13", "javascript": "C14"}


def check_literal(
    value: Any,
    kind: ParameterType,
    answers: Sequence[Any],
    language: str,
    rules: RuleSet = OFFICIAL,
    *,
    required: bool = False,
) -> Problem | None:
    """A Java or JavaScript argument (a text) against its acceptable values; ``None`` when it is one of them."""
    if type(value) is not str:
        return Problem(_TAGS[language], {"expected": answers, "called": value, "type": kind.words})
    element = kind.element_word or None
    converter = java if language == "java" else javascript
    converted = converter.convert(value, kind.word, element)
    problem = check_prepared(converted, kind, answers, rules, required=required)
    if problem is None or converted == value:
        return problem
    return Problem(problem.reason, {**problem.detail, "text": value}, problem.raises)
