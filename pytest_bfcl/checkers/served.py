"""Entries on a user's own MCP server: expectations about what was said and about what the server told of its state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.answer import contains_answer, last_message
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import AnswerDetails, EndDetails, ServerDetails
from pytest_bfcl.failures import HarnessError, Verdict
from pytest_bfcl.transcript import OBSERVED, Transcript

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry

SHOWN_CHARS = 2_000


def check_served(entry: Entry, transcript: Transcript, rules: RuleSet = OFFICIAL) -> Verdict:
    """The first expectation that does not hold decides; raises `HarnessError` when the state was not recorded."""
    turns = len(entry.question)
    if transcript.forced_quit or len(transcript.turns) != turns:
        end = EndDetails(expected=f"{turns} turns", called=f"{len(transcript.turns)} turns")
        end.last_turn = max(len(transcript.turns) - 1, 0)
        return Verdict.wrong(reasons.FORCED_END, end)
    for number, each in enumerate(entry.expect):
        turn = turns - 1 if each.turn is None else each.turn
        if each.is_state:
            told = _told(entry, transcript, number)
            if not each.holds(told):
                wanted = each.equals if "equals" in each.model_fields_set else each.contains
                details = ServerDetails(
                    turn=turn, expected=_shown(wanted), called=_shown(told), asked=each.asked[:SHOWN_CHARS]
                )
                return Verdict.wrong(reasons.SERVER_STATE, details)
            continue
        said = last_message(transcript, turn)
        if not said:
            steps = len(transcript.turns[turn].steps)
            return Verdict.wrong(reasons.NO_MESSAGE, AnswerDetails(expected=each.answers, steps=steps))
        if not contains_answer(said, each.answers, rules):
            return Verdict.wrong(reasons.NO_ANSWER, AnswerDetails(expected=each.answers, called=said))
    return Verdict.passed()


def _told(entry: Entry, transcript: Transcript, number: int) -> Any:
    observed = transcript.extra.get(OBSERVED)
    if not isinstance(observed, list) or number >= len(observed):
        raise HarnessError(
            "mcp", f"{entry.id}: what its server told of the state is not recorded, so it cannot be judged",
            advice="hold the conversation again, with --bfcl-mcp",
        )  # fmt: skip
    return observed[number]


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:SHOWN_CHARS]
