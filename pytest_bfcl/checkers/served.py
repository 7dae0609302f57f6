"""Entries on a user's own MCP server: final message, calls and state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import EndDetails
from pytest_bfcl.checkers.expectations import conversation_verdict, state_verdict, wrong
from pytest_bfcl.dataset.untouched import not_allowed, states_of
from pytest_bfcl.failures import HarnessError, Verdict
from pytest_bfcl.transcript import OBSERVED, TOUCHED, Transcript
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.expectation import Expectation


def check_served(entry: Entry, transcript: Transcript, rules: RuleSet = OFFICIAL) -> Verdict:
    """The first expectation that does not hold decides; raises `HarnessError` when the state was not recorded."""
    turns = len(entry.question)
    if transcript.forced_quit or len(transcript.turns) != turns:
        end = EndDetails(expected=f"{turns} turns", called=f"{len(transcript.turns)} turns")
        end.last_turn = max(len(transcript.turns) - 1, 0)
        return Verdict.wrong(reasons.FORCED_END, end)
    for number, each in enumerate(entry.expect):
        found = [
            _failure_of(entry, transcript, one, (number, place), rules) for place, one in enumerate(each.alternatives)
        ]
        if all(verdict is not None for verdict in found):
            return next(verdict for verdict in found if verdict is not None)
    return _untouched_verdict(entry, transcript) or Verdict.passed()


def _untouched_verdict(entry: Entry, transcript: Transcript) -> Verdict | None:
    """``None`` if nothing changed but what the looks at the state are about, or what they allow to change."""
    told = transcript.extra.get(TOUCHED)
    only = [place for each, _ in states_of(entry.expect) for place in each.only or ()]
    places = not_allowed(told, only) if isinstance(told, list) else []
    if not places:
        return None
    return wrong(reasons.SERVER_STATE, len(entry.question) - 1, "nothing else changed", places, "the rest of the state")


def _failure_of(
    entry: Entry, transcript: Transcript, each: Expectation, place: tuple[int, int], rules: RuleSet
) -> Verdict | None:
    """``None`` if one assertion holds, else the verdict where it alone decides."""
    turn = len(entry.question) - 1 if each.turn is None else each.turn
    if each.looked_at is not None:
        return state_verdict(each, _observed_at(entry, transcript, *place), turn, each.looked_at.subject_text)
    return conversation_verdict(each, transcript, turn, rules)


def _observed_at(entry: Entry, transcript: Transcript, number: int, place: int) -> Any:
    observed = transcript.extra.get(OBSERVED)
    several = entry.expect[number].any_of is not None
    try:
        if not isinstance(observed, list):
            raise LookupError
        return observed[number][place] if several else observed[number]
    except (LookupError, TypeError):
        raise HarnessError(
            HarnessTrouble.MCP,
            f"{entry.id}: the server's report of its state is not recorded, so it cannot be judged",
            advice="run the entry again with --bfcl-mcp",
        ) from None
