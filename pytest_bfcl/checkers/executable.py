"""Executable entries: the recorded results of the calls against those of the ground truth (docs/retired.md).

Nothing is executed here: the conversation carried the calls out and wrote down what each gave. ``exec_simple`` expects
one call and one result. The other three expect as many calls as the ground truth has and pair them in any order, each
result once; one result without a partner fails the entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers.entries import reply_of, single_turn_calls
from pytest_bfcl.checkers.problem import RULE_WORDS, Problem, plain
from pytest_bfcl.decoding import DecodeError, WrongShape
from pytest_bfcl.execution.outcome import Outcome
from pytest_bfcl.failures import HarnessError, Verdict

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

CHECKER = "executable_checker"
TOLERANCE = 0.2
"""Share by which a ``real_time_match`` number may differ from the expected one."""
EXPECTED = "expected_results"


def check_executable(entry: Entry, transcript: Transcript) -> Verdict:
    """The verdict on one executed reply; raises `HarnessError` when the transcript holds no results."""
    try:
        calls = single_turn_calls(entry, transcript)
    except DecodeError as error:
        return undecodable(error, transcript)
    wanted = [str(text) for text in entry.possible_answer or []]
    simple = entry.rule == "simple"
    if len(calls) != (1 if simple else len(wanted)):
        reason = "simple_exec_checker:wrong_count" if simple else "value_error:exec_result_count"
        return Verdict.wrong(
            reason,
            rule=RULE_WORDS[reason],
            expected=1 if simple else len(wanted),
            called=len(calls),
            calls=plain(list(calls)),
            wanted=wanted,
        )
    results = outcomes_of(transcript, len(calls))
    expected = [outcome.value for outcome in expected_outcomes(transcript)]
    kinds = _kinds(entry, len(wanted))
    if simple:
        problem = result_problem(results[0], expected[0], kinds[0])
        return Verdict.passed() if problem is None else _failed(problem, call=0, wanted_call=wanted[0])
    return _check_any_order(results, expected, kinds, wanted)


def result_problem(result: Outcome, expected: Any, kind: str) -> Problem | None:
    """One result against the expected one under ``exact_match``, ``real_time_match`` or ``structural_match``."""
    if not result.ok:
        return Problem(f"{CHECKER}:execution_error", {"expected": expected, "error": result.error, "kind": result.kind})
    value = result.value
    detail = {"expected": expected, "called": value}
    if kind == "real_time_match":  # of numbers only: two equal texts do not match either, as in 2024
        if _is_number(value) and _is_number(expected) and abs(value - expected) <= TOLERANCE * abs(expected):
            return None
        return Problem(f"{CHECKER}:wrong_result_real_time", detail)
    if kind == "structural_match":
        return _structure_problem(value, expected, detail)
    return None if same_value(value, expected) else Problem(f"{CHECKER}:wrong_result", detail)


def same_value(value: Any, expected: Any) -> bool:
    """Equality as Python's ``==``, but that a truth value is no number."""
    if isinstance(value, bool) != isinstance(expected, bool):
        return False
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(same_value, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(same_value(value[key], expected[key]) for key in value)
    return bool(value == expected)


def _structure_problem(value: Any, expected: Any, detail: Mapping[str, Any]) -> Problem | None:
    """Same type; lists of the same length, objects with the same keys; values do not matter."""
    reason = f"{CHECKER}:wrong_result_type"
    if type(value) is not type(expected) and not (_is_number(value) and _is_number(expected)):
        return Problem(reason, detail)
    if isinstance(expected, list) and len(value) != len(expected):
        return Problem(f"{reason}:list_length", detail)
    if isinstance(expected, dict):
        if any(key not in value for key in expected):
            return Problem(f"{reason}:dict_key_not_found", detail)
        if any(key not in expected for key in value):
            return Problem(f"{reason}:dict_extra_key", detail)
    return None


def _check_any_order(
    results: Sequence[Outcome], expected: Sequence[Any], kinds: Sequence[str], wanted: Sequence[str]
) -> Verdict:
    unused = list(range(len(results)))
    for number, value in enumerate(expected):
        problems: list[dict[str, Any]] = []
        for call in unused:
            problem = result_problem(results[call], value, kinds[number])
            if problem is None:
                unused.remove(call)
                break
            problems.append({"call": call, "reason": problem.reason, "called": plain(_shown(results[call]))})
        else:
            reason = f"{CHECKER}:cannot_find_match"
            return Verdict.wrong(
                reason,
                rule=RULE_WORDS[reason],
                answer=number,
                wanted_call=wanted[number],
                expected=plain(value),
                sub_errors=problems,
                sub_error_types=[each["reason"] for each in problems],
            )
    return Verdict.passed()


def undecodable(error: DecodeError, transcript: Transcript) -> Verdict:
    """The verdict on a reply in which no call can be read."""
    shaped = isinstance(error, WrongShape)
    reason = "executable_decoder:wrong_output_format" if shaped else "executable_decoder:decoder_failed"
    called = plain(error.decoded if isinstance(error, WrongShape) else reply_of(transcript).output)
    return Verdict.malformed(reason, rule=RULE_WORDS[reason], error=str(error)[:500], called=called)


def outcomes_of(transcript: Transcript, count: int) -> list[Outcome]:
    """The recorded outcomes of the reply's calls. Raises `HarnessError` when there are not ``count`` of them."""
    texts = transcript.steps[0].results if transcript.steps else []
    if len(texts) != count:
        raise HarnessError(
            "not_executed", f"{transcript.entry_id}: {count} calls, {len(texts)} results; carry them out before judging"
        )
    return _read(transcript, texts)


def expected_outcomes(transcript: Transcript) -> list[Outcome]:
    """The recorded outcomes of the ground truth. Raises `HarnessError` when there are none."""
    texts = transcript.extra.get(EXPECTED)
    if not isinstance(texts, list) or not texts:
        raise HarnessError("not_executed", f"{transcript.entry_id}: the ground truth has not been carried out")
    return _read(transcript, texts)


def _read(transcript: Transcript, texts: Sequence[Any]) -> list[Outcome]:
    try:
        return [Outcome.from_text(text) for text in texts]
    except (TypeError, ValueError) as error:
        raise HarnessError("data", f"{transcript.entry_id}: a recorded result is unreadable: {error}") from error


def _kinds(entry: Entry, count: int) -> list[str]:
    """The kind of comparison of every expected call; one entry of the retired data has one too many."""
    kinds = (entry.model_extra or {}).get("execution_result_type") or []
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    return [str(kind) for kind in kinds[:count]] + ["exact_match"] * (count - len(kinds))


def _failed(problem: Problem, **more: Any) -> Verdict:
    detail = {"rule": RULE_WORDS[problem.reason], **more, **problem.detail}
    return Verdict.wrong(problem.reason, **{key: plain(value) for key, value in detail.items()})


def _shown(result: Outcome) -> Any:
    return result.value if result.ok else f"error: {result.error}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
