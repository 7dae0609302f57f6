"""Arguments of Java and JavaScript functions: text → value of the language → the common value check (spec §7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_bfcl.checkers import java, javascript, reasons
from pytest_bfcl.checkers.broken import BrokenValue
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import ValueDetails
from pytest_bfcl.checkers.types import ParameterType
from pytest_bfcl.checkers.values import check_prepared

_NO_TEXT = {"java": reasons.JAVA_TEXT, "javascript": reasons.JAVASCRIPT_TEXT}
_RULES = {"java": "C13", "javascript": "C14"}


def check_literal(
    value: object,
    kind: ParameterType,
    answers: Sequence[Any],
    language: str,
    rules: RuleSet = OFFICIAL,
    *,
    required: bool = False,
) -> BrokenValue | None:
    """A Java or JavaScript argument (a text) against its acceptable values; ``None`` when it is one of them."""
    if type(value) is not str:
        return BrokenValue(_NO_TEXT[language], ValueDetails(expected=answers, called=value, type=kind.words))
    converted = _converted(value, kind, language, rules)
    broken = check_prepared(converted, kind, answers, rules, required=required)
    if broken is not None and converted != value:
        broken.details.text = value
    return broken


def _converted(text: str, kind: ParameterType, language: str, rules: RuleSet) -> Any:
    """The text as a value: by the reference's patterns, or under C13 and C14 as a literal of the language."""
    if _RULES[language] in rules:
        from pytest_bfcl.syntax.java_literals import java_value
        from pytest_bfcl.syntax.javascript_literals import javascript_value

        return (java_value if language == "java" else javascript_value)(text, kind.schema)
    converter = java if language == "java" else javascript
    return converter.convert(text, kind.word, kind.element_word or None)
