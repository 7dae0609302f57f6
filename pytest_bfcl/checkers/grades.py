"""Graded rewards of conversations whose calls are executed: credit turn by turn, for state and for response.

The official verdict is all or nothing over the whole conversation. Grades say how near a wrong one came, by this fixed
scale (a valid conversation is always 1.0, a wrong one at most `MOST_PARTIAL`):

- A turn in which calls are due is worth 1.0 when the official rule finds nothing wrong with it, looked at for itself;
  else `MOST_PARTIAL` times the mean of its shares of state and response, and that times expected/made when more calls
  were made than expected, so that flooding does not pay. A turn without any call is worth 0.
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


def grades_of(entry: Entry, transcript: Transcript, *, valid: bool, rules: str = "official") -> Grades:
    """The grades of a conversation about a multi-turn entry; ``valid`` is its verdict. Raises `HarnessError`."""
    record = replay(entry, transcript, shares=True)
    strict = rules != "official" and "C17" in rule_set(rules)
    turns = [_turn(number, turn, strict) for number, turn in enumerate(record.turns)]
    if record.forced and turns:
        turns[-1] = turns[-1]._replace(score=0.0)
    for number in range(len(turns), record.expected_turns):
        turns.append(TurnGrade(number, 0.0 if record.expected_calls[number] else None))
    scores = [turn.score for turn in turns if turn.score is not None]
    mean = sum(scores) / len(scores) if scores else 0.0
    return Grades(1.0 if valid else min(MOST_PARTIAL, mean), tuple(turns))


def _turn(number: int, turn: TurnRecord, strict: bool) -> TurnGrade:
    if not turn.expected:
        return TurnGrade(number, 0.0 if strict and turn.quiet_offence else None)
    state, response = turn.shares
    if turn.wrong is None:
        return TurnGrade(number, 1.0, state, response)
    made = sum(map(len, turn.made))
    if not made:
        return TurnGrade(number, 0.0, state, response)
    known = [share for share in (state, response) if share is not None]
    share = MOST_PARTIAL * sum(known) / len(known) if known else 0.0
    return TurnGrade(number, share * min(1.0, len(turn.expected) / made), state, response)
