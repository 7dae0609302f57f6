"""REST entries: one GET request whose response has the shape of the recorded one (docs/retired.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.checkers.entries import single_turn_calls
from pytest_bfcl.checkers.executable import outcomes_of, undecodable
from pytest_bfcl.checkers.problem import RULE_WORDS, plain
from pytest_bfcl.decoding import DecodeError
from pytest_bfcl.execution.responses import REST, mismatch, sample_of
from pytest_bfcl.failures import Verdict

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
        reason = f"{REST}:wrong_count"
        return Verdict.wrong(
            reason, rule=RULE_WORDS[reason], expected=1, called=len(calls), calls=plain(list(calls)), wanted=[]
        )
    (outcome,) = outcomes_of(transcript, 1)
    found = mismatch(outcome, sample_of(entry.id, entry.possible_answer))
    if found is None:
        return Verdict.passed()
    return Verdict.wrong(
        found.reason,
        rule=RULE_WORDS[found.reason],
        call=0,
        error=found.error,
        expected=plain(found.expected),
        called=plain(found.called),
        called_call=plain(calls[0]),
    )
