"""Calls against possible answers: the pairing rules and the check of one call (ast_checker spec §4, §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.literals import check_literal
from pytest_bfcl.checkers.matching import augment
from pytest_bfcl.checkers.problem import MULTIPLE, PARALLEL, RULE_WORDS, SIMPLE, Problem, plain
from pytest_bfcl.checkers.types import parameter_type
from pytest_bfcl.checkers.values import MARKER, check_python
from pytest_bfcl.failures import FailureTag, HarnessError, Verdict
from pytest_bfcl.transcript import Call, wire_name

_EMPTY: Mapping[str, Any] = {}
_ANSWER_SHAPE = "a possible answer must be {function: {parameter: [acceptable values]}}"


class CallRules(NamedTuple):
    """What the check of a call depends on besides call, document and answer.

    ``underscore_names``: names went over the wire with dots replaced, and are expected so. ``functions``: all offered
    documents (rule C5 asks whether a spelling is unambiguous).
    """

    language: str = "python"
    underscore_names: bool = False
    rules: RuleSet = OFFICIAL
    functions: Sequence[Mapping[str, Any]] = ()


def check_calls(calls: Sequence[Call], answers: Sequence[Mapping[str, Any]], rule: str, how: CallRules) -> Verdict:
    """Calls against the answers of one entry under the rule ``simple``, ``multiple`` or ``parallel``.

    ``answers``: list of one-key ``{function: {parameter: [acceptable values]}}``. Raises `HarnessError` (kind
    ``data``) when documents or answers cannot be used.
    """
    if not how.functions or not answers:
        raise HarnessError("data", "the entry has no function documents or no possible answers")
    if rule == "parallel":
        return _check_parallel(calls, answers, how)
    if rule == "multiple":
        if len(calls) != len(answers):
            return _wrong_count(MULTIPLE, calls, answers)
        document = _document(how.functions, _answer_name(answers[0]))
    else:
        if len(calls) != 1:
            return _wrong_count(SIMPLE, calls, answers[:1])
        document = how.functions[0]
    problem = check_call(calls[0], document, answers[0], how)
    if problem is None:
        return Verdict.passed()
    return verdict_of(problem, call=0, wanted=answers[0])


def verdict_of(problem: Problem, **more: Any) -> Verdict:
    """A failed verdict with the problem's reason, the rule in words, and everything known, bounded and JSON-able."""
    detail: dict[str, Any] = {"rule": RULE_WORDS.get(problem.reason, problem.reason), **more, **problem.detail}
    if problem.raises:
        detail["reference"] = "raises here and gives no verdict"
    for key, value in detail.items():
        detail[key] = plain(value)
    return Verdict(False, FailureTag.WRONG_ANSWER, problem.reason, detail)


def check_call(call: Call, document: Mapping[str, Any], answer: Mapping[str, Any], how: CallRules) -> Problem | None:
    """One call against one document and one answer (spec §5); ``None`` when it is right."""
    name, arguments = call
    expected = str(document.get("name", ""))
    if not same_name(name, expected, how):
        shown = expected.replace(".", "_") if how.underscore_names else expected
        return Problem(f"{SIMPLE}:wrong_func_name", {"function": expected, "expected": shown, "called": name})
    schema = _mapping(document.get("parameters"))
    properties = _mapping(schema.get("properties"))
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    accepted = _accepted(answer)
    for parameter in required:
        if parameter not in arguments:
            detail = {"expected": accepted.get(parameter), "called": dict(arguments)}
            return Problem(f"{SIMPLE}:missing_required", {"function": expected, "param": parameter, **detail})
    for parameter, value in arguments.items():
        if parameter not in properties or parameter not in accepted:
            why = "not documented" if parameter not in properties else "not among the expected arguments"
            detail = {"expected": sorted(accepted), "called": value, "error": f"{parameter!r} is {why}"}
            return Problem(f"{SIMPLE}:unexpected_param", {"function": expected, "param": parameter, **detail})
        problem = check_value(value, properties[parameter], accepted[parameter], how, required=parameter in required)
        if problem is not None:
            return problem.about(function=expected, param=parameter)
    for parameter, values in accepted.items():
        if parameter in arguments:
            continue
        if type(values) is not list:
            raise HarnessError("data", _ANSWER_SHAPE)
        if MARKER not in values:
            detail = {"expected": values, "called": dict(arguments)}
            return Problem(f"{SIMPLE}:missing_optional", {"function": expected, "param": parameter, **detail})
    return None


def check_value(
    value: Any, schema: Any, answers: Sequence[Any], how: CallRules, *, required: bool = False
) -> Problem | None:
    """One argument against its acceptable values, in the entry's language."""
    if type(answers) is not list:
        raise HarnessError("data", _ANSWER_SHAPE)
    kind = parameter_type(schema, how.language)
    if how.language == "python":
        return check_python(value, kind, answers, how.rules, required=required)
    return check_literal(value, kind, answers, how.language, how.rules, required=required)


def same_name(called: Any, expected: str, how: CallRules) -> bool:
    """Whether a call names the expected function (spec §5 point 1); under C5 in either spelling, if unambiguous."""
    if called == (expected.replace(".", "_") if how.underscore_names else expected):
        return True
    if "C5" not in how.rules or not isinstance(called, str):
        return False
    wired = wire_name(expected)
    if wire_name(called) != wired:
        return False
    return sum(wire_name(str(document.get("name", ""))) == wired for document in how.functions) <= 1


def _check_parallel(calls: Sequence[Call], answers: Sequence[Mapping[str, Any]], how: CallRules) -> Verdict:
    """Greedy pairing in the order of the answers (spec §4), or a maximum matching under C7."""
    if len(calls) != len(answers):
        return _wrong_count(PARALLEL, calls, answers)
    documents = [_document(how.functions, _answer_name(answer)) for answer in answers]
    tried: dict[tuple[int, int], Problem | None] = {}

    def fits(answer: int, call: int) -> bool:
        if (answer, call) not in tried:
            tried[answer, call] = check_call(calls[call], documents[answer], answers[answer], how)
        return tried[answer, call] is None

    owner: dict[int, int] = {}  # call → answer
    for number in range(len(answers)):
        unused = [call for call in range(len(calls)) if call not in owner]
        match = None
        for call in unused:
            problem = tried[number, call] = check_call(calls[call], documents[number], answers[number], how)
            if problem is None:
                match = call
                break
            if problem.raises and "C12" not in how.rules:
                return verdict_of(problem, call=call, wanted=answers[number])  # the reference gives up here
        if match is not None:
            owner[match] = number
        elif not ("C7" in how.rules and augment(number, len(calls), fits, owner)):
            return _no_match(number, unused, calls, answers, tried)
    return Verdict.passed()


def _no_match(
    number: int,
    unused: Sequence[int],
    calls: Sequence[Call],
    answers: Sequence[Mapping[str, Any]],
    tried: Mapping[tuple[int, int], Problem | None],
) -> Verdict:
    reason = f"{PARALLEL}:cannot_find_match"
    subs = [(call, tried[number, call]) for call in unused]
    broken = [
        {"call": call, "reason": problem.reason, **{key: plain(value) for key, value in problem.detail.items()}}
        for call, problem in subs
        if problem is not None
    ]
    return Verdict.wrong(
        reason,
        rule=RULE_WORDS[reason],
        answer=number,
        wanted=plain(answers[number]),
        called=plain(list(calls)),
        sub_error_types=[sub["reason"] for sub in broken],
        sub_errors=broken,
    )


def _wrong_count(checker: str, calls: Sequence[Call], answers: Sequence[Any]) -> Verdict:
    reason = f"{checker}:wrong_count"
    return Verdict.wrong(
        reason,
        rule=RULE_WORDS[reason],
        expected=len(answers),
        called=len(calls),
        calls=plain(list(calls)),
        wanted=plain(list(answers)),
    )


def _document(functions: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    for document in functions:
        if document.get("name") == name:
            return document
    raise HarnessError("data", f"the possible answer names {name!r}, which no function document describes")


def _answer_name(answer: Mapping[str, Any]) -> str:
    return next(iter(answer), "")


def _accepted(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Parameter → acceptable values of one answer; raises `HarnessError` when it has another shape."""
    for accepted in answer.values():
        if type(accepted) is dict:
            return accepted
        break
    raise HarnessError("data", _ANSWER_SHAPE)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if type(value) is dict else _EMPTY
