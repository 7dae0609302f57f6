"""Executable entries: the recorded results of the calls against those of the ground truth (docs/retired.md).

Nothing is executed here: the conversation carried the calls out and wrote down what each gave. ``exec_simple`` expects
one call and one result. The other three expect as many calls as the ground truth has and pair them in any order, each
result once; one result without a partner fails the entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.checkers.details import (
    Attempt,
    ResultCountDetails,
    ResultDetails,
    ResultMatchDetails,
    UnreadDetails,
)
from pytest_bfcl.checkers.entries import reply_of, single_turn_calls
from pytest_bfcl.decoding import DecodeError, WrongShape
from pytest_bfcl.extensions.retired import reasons
from pytest_bfcl.extensions.sql.outcome import Outcome
from pytest_bfcl.failures import HarnessError, Reason, Verdict
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

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
        counted = ResultCountDetails(
            expected=1 if simple else len(wanted), called=len(calls), calls=list(calls), wanted=list(wanted)
        )
        return Verdict.wrong(reasons.RESULT_COUNT_SIMPLE if simple else reasons.RESULT_COUNT, counted)
    results = outcomes_of(transcript, len(calls))
    expected = [outcome.value for outcome in expected_outcomes(transcript)]
    kinds = _kinds(entry, len(wanted))
    if simple:
        wrong = wrong_result(results[0], expected[0], kinds[0])
        if wrong is None:
            return Verdict.passed()
        wrong.details.call, wrong.details.wanted_call = 0, wanted[0]
        return Verdict.wrong(wrong.reason, wrong.details)
    return _check_any_order(results, expected, kinds, wanted)


class WrongResult(NamedTuple):
    """Why a result is not the expected one."""

    reason: Reason
    details: ResultDetails


def wrong_result(result: Outcome, expected: object, kind: str) -> WrongResult | None:
    """One result against the expected one under ``exact_match``, ``real_time_match`` or ``structural_match``."""
    if not result.ok:
        details = ResultDetails(expected=expected, error=result.error, kind=result.kind)
        return WrongResult(reasons.RESULT_ERROR, details)
    reason = _difference(result.value, expected, kind)
    return None if reason is None else WrongResult(reason, ResultDetails(expected=expected, called=result.value))


def _difference(value: Any, expected: Any, kind: str) -> Reason | None:
    if kind == "real_time_match":  # of numbers only: two equal texts do not match either, as in 2024
        if _is_number(value) and _is_number(expected) and abs(value - expected) <= TOLERANCE * abs(expected):
            return None
        return reasons.RESULT_REAL_TIME
    if kind == "structural_match":
        return _difference_in_structure(value, expected)
    return None if same_value(value, expected) else reasons.RESULT


def same_value(value: object, expected: object) -> bool:
    """Equality as Python's ``==``, but that a truth value is no number."""
    if isinstance(value, bool) != isinstance(expected, bool):
        return False
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(same_value, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(same_value(value[key], expected[key]) for key in value)
    return bool(value == expected)


def _difference_in_structure(value: Any, expected: Any) -> Reason | None:
    """Same type; lists of the same length, objects with the same keys; values do not matter."""
    if type(value) is not type(expected) and not (_is_number(value) and _is_number(expected)):
        return reasons.RESULT_TYPE
    if isinstance(expected, list) and len(value) != len(expected):
        return reasons.RESULT_LENGTH
    if isinstance(expected, dict):
        if any(key not in value for key in expected):
            return reasons.RESULT_KEY_MISSING
        if any(key not in expected for key in value):
            return reasons.RESULT_KEY_EXTRA
    return None


def _check_any_order(
    results: Sequence[Outcome], expected: Sequence[Any], kinds: Sequence[str], wanted: Sequence[str]
) -> Verdict:
    unused = list(range(len(results)))
    for number, value in enumerate(expected):
        attempts: list[Attempt] = []
        for call in unused:
            wrong = wrong_result(results[call], value, kinds[number])
            if wrong is None:
                unused.remove(call)
                break
            given = ResultDetails(called=_value_or_error(results[call]))
            attempts.append(Attempt(call, wrong.reason.name, given))
        else:
            details = ResultMatchDetails(
                answer=number, wanted_call=wanted[number], expected=value, attempts=tuple(attempts)
            )
            return Verdict.wrong(reasons.RESULT_NO_MATCH, details)
    return Verdict.passed()


def undecodable(error: DecodeError, transcript: Transcript) -> Verdict:
    """The verdict on a reply in which no call can be read."""
    if isinstance(error, WrongShape):
        details = UnreadDetails(error=str(error)[:500], called=error.decoded)
        return Verdict.wrong(reasons.WRONG_SHAPE_EXECUTED, details)
    details = UnreadDetails(error=str(error)[:500], called=reply_of(transcript).output)
    return Verdict.wrong(reasons.UNREADABLE_EXECUTED, details)


def outcomes_of(transcript: Transcript, count: int) -> list[Outcome]:
    """The recorded outcomes of the reply's calls. Raises `HarnessError` when there are not ``count`` of them."""
    texts = transcript.steps[0].results if transcript.steps else []
    if len(texts) != count:
        raise HarnessError(
            HarnessTrouble.NOT_EXECUTED,
            f"{transcript.entry_id}: {count} calls, {len(texts)} results; carry them out before judging",
        )
    return _read(transcript, texts)


def expected_outcomes(transcript: Transcript) -> list[Outcome]:
    """The recorded outcomes of the ground truth. Raises `HarnessError` when there are none."""
    texts = transcript.extra.get(EXPECTED)
    if not isinstance(texts, list) or not texts:
        raise HarnessError(
            HarnessTrouble.NOT_EXECUTED, f"{transcript.entry_id}: the ground truth has not been carried out"
        )
    return _read(transcript, texts)


def _read(transcript: Transcript, texts: Sequence[Any]) -> list[Outcome]:
    try:
        return [Outcome.from_text(text) for text in texts]
    except (TypeError, ValueError) as error:
        raise HarnessError(
            HarnessTrouble.DATA, f"{transcript.entry_id}: a recorded result is unreadable: {error}"
        ) from error


def _kinds(entry: Entry, count: int) -> list[str]:
    """The kind of comparison of every expected call; one entry of the retired data has one too many."""
    kinds = entry.execution_result_type or []
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    return [str(kind) for kind in kinds[:count]] + ["exact_match"] * (count - len(kinds))


def _value_or_error(result: Outcome) -> Any:
    return result.value if result.ok else f"error: {result.error}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
