"""Compares calls with possible answers: pairing, the check of one call, Java's and JavaScript's arguments (spec §4 to
§7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.checkers import java, javascript, reasons
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import Attempt, CallDetails, CountDetails, MatchDetails, ValueDetails
from pytest_bfcl.checkers.exact import BrokenRule, BrokenValue, ParameterType, parameter_type
from pytest_bfcl.checkers.json_calls import check_json_call
from pytest_bfcl.checkers.values import MARKER, check_prepared, check_python
from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.failures import HarnessError, Reason, Verdict
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.tools.json_schema import is_native
from pytest_bfcl.transcript import Call, wire_name
from pytest_bfcl.troubles import HarnessTrouble

_NO_TEXT = {"java": reasons.JAVA_TEXT, "javascript": reasons.JAVASCRIPT_TEXT}
_RULES = {"java": "C13", "javascript": "C14"}


def check_literal(
    value: object,
    kind: ParameterType,
    answers: Sequence[Any],
    language: Language,
    rules: RuleSet = OFFICIAL,
    *,
    required: bool = False,
) -> BrokenValue | None:
    """A Java or JavaScript argument (a text) and its acceptable values; ``None`` if it is one of them."""
    if type(value) is not str:
        return BrokenValue(_NO_TEXT[language], ValueDetails(expected=answers, called=value, type=kind.words))
    converted = _converted(value, kind, language, rules)
    broken = check_prepared(converted, kind, answers, rules, required=required)
    if broken is not None and converted != value:
        broken.details.text = value
    return broken


def _converted(text: str, kind: ParameterType, language: Language, rules: RuleSet) -> Any:
    """The text as a value: by the reference's patterns, or under C13 and C14 as a literal of the language."""
    if _RULES[language] in rules:
        from pytest_bfcl.syntax.java import java_value
        from pytest_bfcl.syntax.javascript import javascript_value

        return (java_value if language == "java" else javascript_value)(text, kind.schema)
    converter = java if language == "java" else javascript
    return converter.convert(text, kind.word, kind.element_word or None)


def augment(start: int, calls: int, fits: Callable[[int, int], bool], owner: MutableMapping[int, int]) -> bool:
    """Give answer ``start`` a call by moving earlier answers to other calls along an augmenting path.

    ``owner`` maps call → answer and is changed in place; ``fits(answer, call)`` is called as needed. Returns whether it
    worked. Kuhn's algorithm without recursion: O(calls²) per answer.
    """
    came_from: dict[int, int] = {}  # call → answer that reached it
    queue = [start]
    while queue:
        answer = queue.pop()
        for call in range(calls):
            if call in came_from or not fits(answer, call):
                continue
            came_from[call] = answer
            if call in owner:
                queue.append(owner[call])
                continue
            _shift(call, came_from, owner)
            return True
    return False


def _shift(call: int | None, came_from: dict[int, int], owner: MutableMapping[int, int]) -> None:
    """Give each answer of the path the call that it reached, beginning with a free one; the first held none."""
    while call is not None:
        answer = came_from[call]
        previous = next((held for held, who in owner.items() if who == answer), None)
        owner[call] = answer
        call = previous


_EMPTY: Fields = {}
_ANSWER_SHAPE = "a possible answer must be {function: {parameter: [acceptable values]}}"


class CallRules(NamedTuple):
    """The context of a call's check besides call, document and answer. ``underscore_names``: names were sent with dots
    replaced, and are expected in this form. ``functions``: all offered documents (rule C5 needs them to see whether a
    spelling is unambiguous).
    """

    language: Language = "python"
    underscore_names: bool = False
    rules: RuleSet = OFFICIAL
    functions: Sequence[Fields] = ()


def check_calls(calls: Sequence[Call], answers: Sequence[Fields], rule: str, how: CallRules) -> Verdict:
    """Calls against the answers of one entry under the rule ``simple``, ``multiple`` or ``parallel``.

    ``answers``: list of one-key ``{function: {parameter: [acceptable values]}}``. Raises `HarnessError` (kind ``data``)
    for unusable documents or answers.
    """
    if not how.functions or not answers:
        raise HarnessError(HarnessTrouble.DATA, "the entry has no function documents or no possible answers")
    if rule == "parallel":
        return _check_parallel(calls, answers, how)
    if rule == "multiple":
        if len(calls) != len(answers):
            return _wrong_count(reasons.WRONG_COUNT_MULTIPLE, calls, answers)
        document = _document(how.functions, _answer_name(answers[0]))
    else:
        if len(calls) != 1:
            return _wrong_count(reasons.WRONG_COUNT, calls, answers)
        document = how.functions[0]
    broken = check_call(calls[0], document, answers[0], how)
    return Verdict.passed() if broken is None else _wrong_call(broken, 0, answers[0])


def _wrong_call(broken: BrokenRule, call: int, wanted: Fields) -> Verdict:
    """The verdict on a call (by its number) that breaks a rule of the ``wanted`` one."""
    details = broken.details
    details.call, details.wanted = call, wanted
    if broken.raises:
        details.reference = "raises here and gives no verdict"
    return Verdict.wrong(broken.reason, details)


def check_call(call: Call, document: Fields, answer: Fields, how: CallRules) -> BrokenRule | None:
    """One call, one document and one answer (spec §5); ``None`` if the call is right."""
    name, arguments = call
    expected = str(document.get("name", ""))
    if not same_name(name, expected, how):
        shown = expected.replace(".", "_") if how.underscore_names else expected
        return BrokenRule(reasons.WRONG_NAME, CallDetails(function=expected, expected=shown, called=name))
    if is_native(document):
        return check_json_call(document, arguments, _accepted(answer))
    schema = _mapping(document.get("parameters"))
    properties = _mapping(schema.get("properties"))
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    accepted = _accepted(answer)
    for parameter in required:
        if parameter not in arguments:
            return _left_out(reasons.MISSING_REQUIRED, expected, parameter, accepted.get(parameter), arguments)
    for parameter, value in arguments.items():
        if parameter not in properties or parameter not in accepted:
            why = "not documented" if parameter not in properties else "not among the expected arguments"
            details = CallDetails(
                function=expected,
                param=parameter,
                expected=sorted(accepted),
                called=value,
                error=f"{parameter!r} is {why}",
            )
            return BrokenRule(reasons.UNEXPECTED_PARAM, details)
        broken = check_value(value, properties[parameter], accepted[parameter], how, required=parameter in required)
        if broken is not None:
            broken.details.function, broken.details.param = expected, parameter
            return broken
    for parameter, values in accepted.items():
        if parameter in arguments:
            continue
        if type(values) is not list:
            raise HarnessError(HarnessTrouble.DATA, _ANSWER_SHAPE)
        if MARKER not in values and not _is_default(properties.get(parameter), values, how):
            return _left_out(reasons.MISSING_OPTIONAL, expected, parameter, values, arguments)
    return None


def _is_default(schema: object, answers: Sequence[Any], how: CallRules) -> bool:
    """Whether the default of an omitted optional argument is an accepted value (C9)."""
    if "C9" not in how.rules or how.language != "python" or not isinstance(schema, Mapping) or "default" not in schema:
        return False
    return check_value(schema["default"], schema, answers, how) is None


def _left_out(
    reason: Reason, function: str, parameter: str, accepted: object, arguments: Mapping[Any, Any]
) -> BrokenRule:
    details = CallDetails(function=function, param=parameter, expected=accepted, called=dict(arguments))
    return BrokenRule(reason, details)


def check_value(
    value: object, schema: object, answers: Sequence[Any], how: CallRules, *, required: bool = False
) -> BrokenValue | None:
    """One argument and its acceptable values, in the entry's language."""
    if type(answers) is not list:
        raise HarnessError(HarnessTrouble.DATA, _ANSWER_SHAPE)
    kind = parameter_type(schema, how.language)
    if how.language == "python":
        return check_python(value, kind, answers, how.rules, required=required)
    return check_literal(value, kind, answers, how.language, how.rules, required=required)


def same_name(called: object, expected: str, how: CallRules) -> bool:
    """Whether a call names the expected function (spec §5 point 1); under C5 in either spelling, if unambiguous."""
    if called == (expected.replace(".", "_") if how.underscore_names else expected):
        return True
    if "C5" not in how.rules or not isinstance(called, str):
        return False
    wired = wire_name(expected)
    if wire_name(called) != wired:
        return False
    return sum(wire_name(str(document.get("name", ""))) == wired for document in how.functions) <= 1


def _check_parallel(calls: Sequence[Call], answers: Sequence[Fields], how: CallRules) -> Verdict:
    """Greedy pairing in the order of the answers (spec §4), or a maximum matching under C7."""
    if len(calls) != len(answers):
        return _wrong_count(reasons.WRONG_COUNT_PARALLEL, calls, answers)
    documents = [_document(how.functions, _answer_name(answer)) for answer in answers]
    tried: dict[tuple[int, int], BrokenRule | None] = {}

    def fits(answer: int, call: int) -> bool:
        if (answer, call) not in tried:
            tried[answer, call] = check_call(calls[call], documents[answer], answers[answer], how)
        return tried[answer, call] is None

    owner: dict[int, int] = {}  # call → answer
    for number in range(len(answers)):
        unused = [call for call in range(len(calls)) if call not in owner]
        match = None
        for call in unused:
            broken = tried[number, call] = check_call(calls[call], documents[number], answers[number], how)
            if broken is None:
                match = call
                break
            if broken.raises and "C12" not in how.rules:
                return _wrong_call(broken, call, answers[number])  # the reference gives up here
        if match is not None:
            owner[match] = number
        elif not ("C7" in how.rules and augment(number, len(calls), fits, owner)):
            return _no_match(number, unused, calls, answers, tried)
    return Verdict.passed()


def _no_match(
    number: int,
    unused: Sequence[int],
    calls: Sequence[Call],
    answers: Sequence[Fields],
    tried: Mapping[tuple[int, int], BrokenRule | None],
) -> Verdict:
    attempts = [
        Attempt(call, broken.reason.name, broken.details)
        for call in unused
        if (broken := tried[number, call]) is not None
    ]
    details = MatchDetails(answer=number, wanted=answers[number], called=list(calls), attempts=tuple(attempts))
    return Verdict.wrong(reasons.NO_MATCH, details)


def _wrong_count(reason: Reason, calls: Sequence[Call], answers: Sequence[Any]) -> Verdict:
    details = CountDetails(expected=len(answers), called=len(calls), calls=list(calls), wanted=list(answers))
    return Verdict.wrong(reason, details)


def _document(functions: Sequence[Fields], name: str) -> Fields:
    for document in functions:
        if document.get("name") == name:
            return document
    raise HarnessError(HarnessTrouble.DATA, f"the possible answer names {name!r}, which no function document describes")


def _answer_name(answer: Fields) -> str:
    return next(iter(answer), "")


def _accepted(answer: Fields) -> Parsed:
    """Parameter → acceptable values of one answer. Raises `HarnessError` for another shape."""
    for accepted in answer.values():
        if type(accepted) is dict:
            return accepted
        break
    raise HarnessError(HarnessTrouble.DATA, _ANSWER_SHAPE)


def _mapping(value: object) -> Fields:
    return value if type(value) is dict else _EMPTY
