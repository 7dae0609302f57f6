"""Graded rewards of conversations whose calls are executed: credit turn by turn, for state and for response.

The official verdict is all or nothing over the whole conversation, and repeated calls may pass. Grades measure how
close a wrong conversation is, and the cost of extra calls. The scale is fixed. A valid conversation without such calls
is 1.0, a wrong one at most `MOST_PARTIAL`:

- A turn with expected calls is worth 1.0 if the official rule passes it on its own; else `MOST_PARTIAL` times the mean
  of its shares of state and response. A turn without any call is worth 0.
- Calls beyond the ground truth's number cost, and so do those that only a later turn needs. An argument that no
  expected call of its function has counts as one of them, unless it is empty or the documented default. A turn is
  divided by the square of 1 + ``call_cost`` times these for each expected call, right or wrong, without a floor. With a
  ``call_cost`` of 0 a right turn is worth 1.0 with any calls.
- *state*: of the classes that the turn's expected calls write to, or that differ, the share with the right state;
  ``None`` without such a class, because unchanged other classes earn nothing.
- *response*: share of the turn's expected results obtained by its end.
- Quiet turns, without expected calls: one with a call is worth 0. If a value or a function is missing, a question is
  worth as much as the turn that it makes possible, and silence or a claim nothing; other quiet turns without a call do
  not count.
- The conversation is worth the mean of its turns; turns that were not reached, or ended by the step limit, are worth 0.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.checkers.state import is_designed, replay
from pytest_bfcl.decoding.ground_truth import parse_ground_truth_call
from pytest_bfcl.simulators import CallRefused, split_call

if TYPE_CHECKING:
    from pytest_bfcl.checkers.state import TurnRecord
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript


MOST_PARTIAL = 0.9
"""The largest grade of anything wrong, in every kind of entry."""
ASKING = 2
"""The least number of words of a question."""
_REQUESTS = re.compile(
    r"\b(please|needs?|required?|provide|specify|which|what|who|when|where|how|clarify|confirm|missing|cannot|unable"
    r"|unavailable|not|\w+n't|without|lacks?|sorry|unclear|tell|share|enter)\b"
)
"""One of these makes a sentence without a question mark a request, or says that something is not possible."""
CALL_COST = 1.0
"""At this cost a turn with every call made twice is worth a quarter."""


class TurnGrade(NamedTuple):
    """One user turn, all numbers in [0, 1].

    ``score`` is ``None`` for turns that do not count, ``state`` and ``response`` if there is nothing to compare.
    """

    turn: int
    score: float | None
    state: float | None = None
    response: float | None = None


class Grades(NamedTuple):
    """A conversation's graded reward and that of each turn of the ground truth."""

    score: float
    turns: tuple[TurnGrade, ...] = ()


def grades_of(entry: Entry, transcript: Transcript, *, valid: bool, call_cost: float = CALL_COST) -> Grades:
    """The grades of a conversation about a multi-turn entry; ``valid`` is its verdict. Raises `HarnessError`.

    A conversation in progress is graded as if the model stopped here.
    """
    record = replay(entry, transcript, shares=True)
    due = [Counter(map(_call, turn.expected)) for turn in record.turns]
    early = [_early(turn, due[number], due[number + 1 :]) for number, turn in enumerate(record.turns)]
    turns = [
        _turn(number, turn, early[number], _invented(entry, turn), call_cost)
        for number, turn in enumerate(record.turns)
    ]
    if record.forced and turns:
        turns[-1] = turns[-1]._replace(score=0.0)
    reached = len(turns)
    for number in range(reached, record.expected_turns):
        turns.append(TurnGrade(number, 0.0 if record.expected_calls[number] else None))
    for number in reversed(range(reached)):
        if turns[number].score is None and is_designed(entry, number):
            made_possible = turns[number + 1].score if number + 1 < len(turns) else None
            turns[number] = turns[number]._replace(score=made_possible if _asked(transcript, number) else 0.0)
    scores = [turn.score for turn in turns if turn.score is not None]
    mean = sum(scores) / len(scores) if scores else float(valid)
    return Grades(mean if valid else min(MOST_PARTIAL, mean), tuple(turns))


def _asked(transcript: Transcript, number: int) -> bool:
    """Whether a turn's words may be a question; a turn that was only judged, without any reply, counts as one."""
    steps = transcript.turns[number].steps
    return not steps or any(_asks(step.reply.text or "") for step in steps)


def _asks(text: str) -> bool:
    said = text.lower().replace("’", "'")
    return len(re.findall(r"\w+", said)) >= ASKING and ("?" in said or _REQUESTS.search(said) is not None)


def _early(turn: TurnRecord, due: Counter[str], later: list[Counter[str]]) -> int:
    """How many calls of a turn belong only to a later one."""
    beyond = Counter(_call(text) for step in turn.made for text in step) - due
    return sum((beyond & sum(later, Counter())).values())


def _invented(entry: Entry, turn: TurnRecord) -> int:
    """The number of arguments that are on no expected call of their function, not its default and not empty."""
    asked: dict[str, set[str]] = {}
    for call in (parse_ground_truth_call(text, entry) for text in turn.expected):
        if call is not None:
            asked.setdefault(call.name, set()).update(call.arguments)
    defaults = {str(doc["name"]): doc["parameters"].get("properties") or {} for doc in entry.all_functions}
    made = (parse_ground_truth_call(text, entry) for step in turn.made for text in step)
    invented = 0
    for call in made:
        if call is not None and call.name in asked and call.name in defaults:
            for name, value in call.arguments.items():
                default = (defaults[call.name].get(name) or {}).get("default")
                invented += name not in asked[call.name] and value not in (None, "", [], default)
    return invented


def _call(text: str) -> str:
    """A call with its arguments in a fixed order."""
    try:
        call = split_call(text)
    except CallRefused:
        return text
    return text if call is None else f"{call.name}{call.args}{sorted(call.kwargs.items())}"


def _turn(number: int, turn: TurnRecord, early: int, invented: int, call_cost: float) -> TurnGrade:
    made, due = sum(map(len, turn.made)), len(turn.expected)
    if not turn.expected:
        return TurnGrade(number, 0.0 if made else None)
    state, response = turn.shares
    economy = 1 / (1 + call_cost * (max(0, made - due, early) + invented) / due) ** 2
    if turn.wrong is None:
        return TurnGrade(number, economy, state, response)
    known = [share for share in (state, response) if share is not None]
    if not made or not known:
        return TurnGrade(number, 0.0, state, response)
    return TurnGrade(number, MOST_PARTIAL * sum(known) / len(known) * economy, state, response)
