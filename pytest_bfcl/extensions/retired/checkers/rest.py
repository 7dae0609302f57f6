"""REST entries: one GET request whose response has the shape of the recorded one (docs/retired.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.checkers.details import ResultCountDetails, ResultDetails
from pytest_bfcl.checkers.entries import single_turn_calls
from pytest_bfcl.decoding import DecodeError
from pytest_bfcl.extensions.retired import reasons
from pytest_bfcl.extensions.retired.checkers.executable import outcomes_of, undecodable
from pytest_bfcl.extensions.retired.execution.responses import Differs, mismatch, sample_of
from pytest_bfcl.failures import Reason, Verdict

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript


def check_rest(entry: Entry, transcript: Transcript) -> Verdict:
    """The verdict on one request, carried out before; raises `HarnessError` when the transcript holds no response."""
    try:
        calls = single_turn_calls(entry, transcript)
    except DecodeError as error:
        return undecodable(error, transcript)
    if len(calls) != 1:
        counted = ResultCountDetails(expected=1, called=len(calls), calls=list(calls), wanted=[])
        return Verdict.wrong(reasons.REST_COUNT, counted)
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
