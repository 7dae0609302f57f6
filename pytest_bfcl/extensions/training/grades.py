"""Graded rewards of conversations whose calls are executed: credit turn by turn, for state and for response.

The official verdict is all or nothing over the whole conversation, and calls that are made again and again may pass.
Grades say how near a wrong one came and what calls beyond need cost, by this fixed scale (a valid conversation without
such calls is 1.0, a wrong one at most `MOST_PARTIAL`):

- A turn in which calls are due is worth 1.0 when the official rule finds nothing wrong with it, looked at for itself;
  else `MOST_PARTIAL` times the mean of its shares of state and response. A turn without any call is worth 0.
- Calls beyond the ground truth's number cost: a right turn is divided by 1 + ``call_cost`` times the calls too many for
  each expected one (at most halved), a wrong one multiplied with expected/made. A ``call_cost`` of 0 makes a right turn
  worth 1.0 whatever it called.
- *state*: of the classes that the turn's expected calls write to, or that differ, the share that is as it should be;
  ``None`` when there is no such class: leaving alone what nobody was to touch earns nothing.
- *response*: share of the turn's expected results that were obtained by then.
- Quiet turns, in which no call is due, count only when the rules find a call in them (corrected rule C17), as 0.
- The conversation is worth the mean of its turns; turns never reached, or ended by the step limit, are worth 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.checkers.corrected import rule_set
from pytest_bfcl.checkers.state import replay

if TYPE_CHECKING:
    from pytest_bfcl.checkers.state import TurnRecord
    from pytest_bfcl.dataset import Entry
    from pytest_bfcl.transcript import Transcript


MOST_PARTIAL = 0.9
"""The most that something wrong earns, in every kind of entry."""
CALL_COST = 0.5
LEAST_RIGHT = 0.5
"""What a right turn is worth, however many calls it made."""


class TurnGrade(NamedTuple):
    """One user turn, all numbers in [0, 1].

    ``score`` is ``None`` for turns that do not count, ``state`` and ``response`` where there is nothing to compare.
    """

    turn: int
    score: float | None
    state: float | None = None
    response: float | None = None


class Grades(NamedTuple):
    """A conversation's graded reward and that of each turn of the ground truth."""

    score: float
    turns: tuple[TurnGrade, ...] = ()


def grades_of(
    entry: Entry, transcript: Transcript, *, valid: bool, rules: str = "official", call_cost: float = CALL_COST
) -> Grades:
    """The grades of a conversation about a multi-turn entry; ``valid`` is its verdict. Raises `HarnessError`.

    A conversation that is still going on is graded as if nothing more were said.
    """
    record = replay(entry, transcript, shares=True)
    strict = rules != "official" and "C17" in rule_set(rules)
    turns = [_turn(number, turn, strict, call_cost) for number, turn in enumerate(record.turns)]
    if record.forced and turns:
        turns[-1] = turns[-1]._replace(score=0.0)
    for number in range(len(turns), record.expected_turns):
        turns.append(TurnGrade(number, 0.0 if record.expected_calls[number] else None))
    scores = [turn.score for turn in turns if turn.score is not None]
    mean = sum(scores) / len(scores) if scores else float(valid)
    return Grades(mean if valid else min(MOST_PARTIAL, mean), tuple(turns))


def _turn(number: int, turn: TurnRecord, strict: bool, call_cost: float) -> TurnGrade:
    if not turn.expected:
        return TurnGrade(number, 0.0 if strict and turn.quiet_offence else None)
    state, response = turn.shares
    made, due = sum(map(len, turn.made)), len(turn.expected)
    if turn.wrong is None:
        economy = 1 / (1 + call_cost * max(0, made - due) / due)
        return TurnGrade(number, max(LEAST_RIGHT, economy), state, response)
    known = [share for share in (state, response) if share is not None]
    if not made or not known:
        return TurnGrade(number, 0.0, state, response)
    share = MOST_PARTIAL * sum(known) / len(known)
    return TurnGrade(number, share * min(1.0, due / made), state, response)
