"""Verdicts on retired categories (docs/retired.md). Nothing is executed here: the transcript has the results.
Executable entries: the recorded results of the calls are compared with those of the ground truth. ``exec_simple``
expects one call and one result. The other three expect as many calls as the ground truth has and pair them in any
order, each result once; one result without a partner fails the entry.

REST entries: one GET request whose response has the shape of the recorded one.

SQL entries with their own tables: the rows of the statement against those of the ground truth's. Any statement that
gives the same rows is right. Columns are matched by name when both results have the same names, else by place; the
order of rows counts only if the entry has ``"ordered": true``. Entries without tables (the retired set) are judged by
the call alone, as the reference does.

Chat entries: no tools are offered, so the reply must be words and no call (our rule; the original had none).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_bfcl.checkers.details import (
    Attempt,
    ResultCountDetails,
    ResultDetails,
    ResultMatchDetails,
    UndueDetails,
    UnreadDetails,
)
from pytest_bfcl.checkers.entries import reply_of, single_turn_calls
from pytest_bfcl.decoding import DecodeError, WrongShape, decode_reply
from pytest_bfcl.extensions.retired import reasons
from pytest_bfcl.extensions.sql import Outcome
from pytest_bfcl.failures import HarnessError, Reason, Verdict
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import wire_name
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Call, Transcript


Differs = Literal["no_response", "status", "type", "length", "keys"]


class Mismatch(NamedTuple):
    """Why a response is wrong: the kind of difference, a sentence, and both sides."""

    what: Differs
    error: str
    expected: Any = None
    called: Any = None


def sample_of(entry_id: str, possible_answer: Any) -> Any:
    """The recorded response of an entry: the JSON text of its only answer. Raises `HarnessError`."""
    try:
        (text,) = possible_answer
        return json.loads(text) if isinstance(text, str) else text
    except (TypeError, ValueError, RecursionError) as error:
        raise HarnessError(
            HarnessTrouble.DATA, f"{entry_id}: the answer must be one recorded response as JSON"
        ) from error


def mismatch(outcome: Outcome, sample: Any) -> Mismatch | None:
    """The first rule a response breaks, or ``None``."""
    if not outcome.ok:
        return Mismatch("no_response", str(outcome.error), "a response", outcome.error)
    status, body = outcome.value.get("status"), outcome.value.get("body")
    if status != 200:
        return Mismatch("status", f"the service answered with status {status}", 200, status)
    if type(body) is not type(sample):
        return Mismatch("type", "the response is of another type", _kind(sample), _kind(body))
    if isinstance(sample, Mapping):
        return _keys(body, sample, "the response")
    if isinstance(sample, Sequence) and not isinstance(sample, str):
        if len(body) != len(sample):
            return Mismatch("length", "the list has another length", f"{len(sample)} items", f"{len(body)} items")
        for number, (item, wanted) in enumerate(zip(body, sample, strict=True)):
            if isinstance(wanted, Mapping):
                if not isinstance(item, Mapping):
                    error = f"item {number + 1} is of another type"
                    return Mismatch("type", error, _kind(wanted), _kind(item))
                found = _keys(item, wanted, f"item {number + 1}")
                if found is not None:
                    return found
    return None


def _keys(item: Fields, wanted: Fields, where: str) -> Mismatch | None:
    if set(item) == set(wanted):
        return None
    return Mismatch("keys", f"{where} has other keys", sorted(wanted), sorted(item))


def _kind(value: object) -> str:
    names = {dict: "object", list: "list", str: "text", bool: "boolean", type(None): "nothing"}
    return names.get(type(value), "number")


TOLERANCE = 0.2
"""Share by which a ``real_time_match`` number may differ from the expected one."""
EXPECTED = "expected_results"


def check_executable(entry: Entry, transcript: Transcript) -> Verdict:
    """The verdict on one executed reply. Raises `HarnessError` if the transcript has no results."""
    wanted = [str(text) for text in entry.possible_answer or []]
    simple = entry.rule == "simple"
    reason = reasons.RESULT_COUNT_SIMPLE if simple else reasons.RESULT_COUNT
    calls = _calls(entry, transcript, wanted, 1 if simple else len(wanted), reason)
    if isinstance(calls, Verdict):
        return calls
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
    """Why a result differs from the expected one."""

    reason: Reason
    details: ResultDetails


def wrong_result(result: Outcome, expected: object, kind: str) -> WrongResult | None:
    """One result compared with the expected one under ``exact_match``, ``real_time_match`` or ``structural_match``."""
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
    """Equality like Python's ``==``, but a truth value equals no number."""
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


def _calls(
    entry: Entry, transcript: Transcript, wanted: Sequence[str], count: int, reason: Reason
) -> Sequence[Call] | Verdict:
    """The reply's calls, or the verdict on a reply that cannot be read or has not ``count`` of them."""
    try:
        calls = single_turn_calls(entry, transcript)
    except DecodeError as error:
        return _undecodable(error, transcript)
    if len(calls) == count:
        return calls
    counted = ResultCountDetails(expected=count, called=len(calls), calls=list(calls), wanted=list(wanted))
    return Verdict.wrong(reason, counted)


def _undecodable(error: DecodeError, transcript: Transcript) -> Verdict:
    """The verdict on a reply without readable calls."""
    if isinstance(error, WrongShape):
        details = UnreadDetails(error=str(error)[:500], called=error.decoded)
        return Verdict.wrong(reasons.WRONG_SHAPE_EXECUTED, details)
    details = UnreadDetails(error=str(error)[:500], called=reply_of(transcript).output)
    return Verdict.wrong(reasons.UNREADABLE_EXECUTED, details)


def outcomes_of(transcript: Transcript, count: int) -> list[Outcome]:
    """The recorded outcomes of the reply's calls. Raises `HarnessError` unless there are ``count``."""
    texts = transcript.steps[0].results if transcript.steps else []
    if len(texts) != count:
        raise HarnessError(
            HarnessTrouble.NOT_EXECUTED,
            f"{transcript.entry_id}: {count} calls, {len(texts)} results; carry them out before judging",
        )
    return _read(transcript, texts)


def expected_outcomes(transcript: Transcript) -> list[Outcome]:
    """The recorded outcomes of the ground truth. Raises `HarnessError` without any."""
    texts = transcript.extra.get(EXPECTED)
    if not isinstance(texts, list) or not texts:
        raise HarnessError(
            HarnessTrouble.NOT_EXECUTED, f"{transcript.entry_id}: the ground truth has not been executed"
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
    """The kind of comparison for every expected call; one entry of the retired data has one too many."""
    kinds = entry.execution_result_type or []
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    return [str(kind) for kind in kinds[:count]] + ["exact_match"] * (count - len(kinds))


def _value_or_error(result: Outcome) -> Any:
    return result.value if result.ok else f"error: {result.error}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_rest(entry: Entry, transcript: Transcript) -> Verdict:
    """The verdict on one request that was sent before. Raises `HarnessError` if the transcript has no response."""
    calls = _calls(entry, transcript, (), 1, reasons.REST_COUNT)
    if isinstance(calls, Verdict):
        return calls
    (outcome,) = outcomes_of(transcript, 1)
    found = mismatch(outcome, sample_of(entry.id, entry.possible_answer))
    if found is None:
        return Verdict.passed()
    details = ResultDetails(
        call=0, error=found.error, expected=found.expected, called=found.called, called_call=calls[0]
    )
    return Verdict.wrong(_REASONS[found.what], details)


_REASONS: dict[Differs, Reason] = {
    "no_response": reasons.REST_ERROR,
    "status": reasons.REST_STATUS,
    "type": reasons.REST_TYPE,
    "length": reasons.REST_LENGTH,
    "keys": reasons.REST_KEY,
}


DIGITS = 9
"""Decimals to which numbers are compared, because sums may be computed in another order."""


def check_sql(entry: Entry, transcript: Transcript) -> Verdict:
    """The verdict on one query that was executed before. Raises `HarnessError` if the transcript has no result."""
    calls = _calls(entry, transcript, (), 1, reasons.SQL_COUNT)
    if isinstance(calls, Verdict):
        return calls
    name = calls[0].name
    documented = [str(document.get("name")) for document in entry.function]
    if name not in ([wire_name(each) for each in documented] if transcript.underscore_names else documented):
        return Verdict.wrong(reasons.SQL_NAME, ResultDetails(expected=documented, called=name))
    (result,) = outcomes_of(transcript, 1)
    (expected,) = expected_outcomes(transcript)
    if not result.ok:
        reason = reasons.SQL_REFUSED if result.kind == "refused" else reasons.SQL_ERROR
        details = ResultDetails(call=0, error=result.error, expected=_rows(expected.value), called=calls[0])
        return Verdict.wrong(reason, details)
    ordered = entry.ordered
    if _same_rows(result.value, expected.value, ordered):
        return Verdict.passed()
    details = ResultDetails(call=0, expected=_rows(expected.value), called=_rows(result.value))
    return Verdict.wrong(reasons.SQL_ROWS, details)


def _same_rows(result: Fields, expected: Fields, ordered: bool) -> bool:
    columns, wanted = [_label(each) for each in result["columns"]], [_label(each) for each in expected["columns"]]
    if len(columns) != len(wanted):
        return False
    places = list(range(len(columns)))
    if len(set(columns)) == len(columns) and set(columns) == set(wanted):
        places = [columns.index(name) for name in wanted]
    rows = [tuple(_value(row[place]) for place in places) for row in result["rows"]]
    right = [tuple(map(_value, row)) for row in expected["rows"]]
    return rows == right if ordered else Counter(rows) == Counter(right)


def _label(name: str) -> str:
    return "".join(name.lower().split()).replace('"', "")


def _value(value: object) -> Any:
    return round(float(value), DIGITS) if isinstance(value, int | float) else value


def _rows(value: Fields) -> list[Any]:
    return [value["columns"], *value["rows"]]


def check_chat(transcript: Transcript) -> Verdict:
    """The verdict on one reply: a native call, or a text with only calls, is wrong."""
    reply = transcript.first_reply
    calls: list[Any] = list(reply.output) if isinstance(reply.output, list) else []
    words = bool((reply.text or "").strip())
    if not calls and words:
        try:
            calls = list(decode_reply(reply, "prompt"))
            words = bool(calls)  # an empty list of calls says nothing
        except DecodeError:
            calls = []
    if calls:
        return Verdict.wrong(reasons.CHAT_CALL, UndueDetails(called=calls))
    if not words:
        return Verdict.wrong(reasons.CHAT_SILENCE)
    return Verdict.passed()
