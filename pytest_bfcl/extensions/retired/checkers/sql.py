"""SQL entries with their own tables: the rows of the statement against those of the ground truth's.

Any statement that gives the same rows is right. Columns are matched by name when both results have the same names, else
by place; the order of rows counts only if the entry has (``"ordered": true``). Entries without tables (the
retired set) are judged by the call alone, as the reference does.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers.details import ResultCountDetails, ResultDetails
from pytest_bfcl.checkers.entries import single_turn_calls
from pytest_bfcl.decoding import DecodeError
from pytest_bfcl.extensions.retired import reasons
from pytest_bfcl.extensions.retired.checkers.executable import expected_outcomes, outcomes_of, undecodable
from pytest_bfcl.failures import Verdict
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import wire_name

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

DIGITS = 9
"""Decimals to which numbers are compared: sums may be added up in another order."""


def check_sql(entry: Entry, transcript: Transcript) -> Verdict:
    """The verdict on one query, carried out before; raises `HarnessError` when the transcript holds no result."""
    try:
        calls = single_turn_calls(entry, transcript)
    except DecodeError as error:
        return undecodable(error, transcript)
    if len(calls) != 1:
        counted = ResultCountDetails(expected=1, called=len(calls), calls=list(calls), wanted=[])
        return Verdict.wrong(reasons.SQL_COUNT, counted)
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
