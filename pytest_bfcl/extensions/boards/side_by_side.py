"""One entry with several answers side by side: request, expected calls, each answer's calls, the resulting state.

Turns of a multi-turn entry are replayed on new simulators, so that those after the deciding one also show their
problems; nothing else is executed. The template is ``side_by_side.html.jinja``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.explaining.explanation import Explanation, StateRow, accepted, explain, state_rows
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.explaining.turns import ShownCall, compare_turn
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.reporting.chat import TurnView, chat
from pytest_bfcl.reporting.sources import replayed, transcript_of

if TYPE_CHECKING:
    from pytest_bfcl.checkers.details import Details
    from pytest_bfcl.dataset.entry import Entry

WIDTH = 600
MAX_REQUEST = 2_000
MAX_TURNS = 40
MAX_CALLS = 30
MAX_STATE = 20
"""The part of a turn on a page; the entry's own page has the rest."""


class Answer(NamedTuple):
    """One answer to an entry: its result line, its label, its page and how often it was right."""

    label: str
    record: Fields
    page: str = ""
    tally: str = ""


class Head(NamedTuple):
    """An answer as a whole, and its outcome in words."""

    answer: Answer
    why: Explanation

    @property
    def outcome(self) -> str:
        """The outcome of its line."""
        return str(self.answer.record.get("outcome"))


class CallLine(NamedTuple):
    """One call: its problem, its result if that helps; ``alone``: no other answer has it in this turn."""

    text: str
    mark: str
    result: str
    alone: bool


class Part(NamedTuple):
    """An answer in one turn. ``right`` is ``None`` if turns are not judged separately."""

    label: str
    calls: tuple[CallLine, ...]
    said: str
    right: bool | None
    words: str
    owner: str
    state: tuple[StateRow, ...]
    facts: tuple[tuple[str, str], ...]


class TurnRow(NamedTuple):
    """One turn: the request, the expected calls, each answer's part; ``differs`` if their calls differ."""

    number: int
    request: str
    expected: tuple[str, ...]
    parts: tuple[Part, ...]
    differs: bool


class SideBySide(NamedTuple):
    """An entry with its answers."""

    id: str
    category: str
    heads: tuple[Head, ...]
    turns: tuple[TurnRow, ...]


def side_by_side(entry: Entry | None, answers: Sequence[Answer]) -> SideBySide:
    """The answers to one entry side by side; without ``entry`` from the result lines alone."""
    played = [_Played(entry, answer) for answer in answers]
    count = max((len(each.views) for each in played), default=0)
    turns = tuple(_turn(entry, played, number) for number in range(min(count, MAX_TURNS)))
    first = answers[0].record if answers else {}
    heads = tuple(Head(each.answer, each.why) for each in played)
    return SideBySide(str(first.get("id", "")), str(first.get("category", "")), heads, turns)


def _turn(entry: Entry | None, played: Sequence[_Played], number: int) -> TurnRow:
    made = [each.calls(number) for each in played]
    texts = [Counter(call.text for call in calls) for calls in made]
    parts = []
    for position, (each, calls) in enumerate(zip(played, made, strict=True)):
        others = [text for other, text in enumerate(texts) if other != position]
        lines = tuple(_line(call, others) for call in calls[:MAX_CALLS])
        parts.append(each.part(number, lines))
    differs = any(text != texts[0] for text in texts) or len({part.said for part in parts if not part.calls}) > 1
    request = next((words for each in played if (words := each.request(number))), "")
    return TurnRow(number + 1, request, _expected(entry, number, len(played[0].views)), tuple(parts), differs)


def _line(call: ShownCall, others: Sequence[Counter[str]]) -> CallLine:
    alone = bool(others) and not any(call.text in other for other in others)
    return CallLine(cut(clean(call.text), WIDTH), call.mark, cut(clean(call.result), WIDTH), alone)


def _expected(entry: Entry | None, number: int, turns: int) -> tuple[str, ...]:
    """The expected calls of a turn; an answer in words, and single calls, belong to the last one."""
    if entry is None:
        return ()
    if entry.row.checker == "state":
        truth = entry.possible_answer or []
        calls = truth[number] if number < len(truth) and isinstance(truth[number], list) else []
        return tuple(cut(clean(str(call)), WIDTH) for call in calls[:MAX_CALLS]) or ("no call",)
    return tuple(accepted(entry)[:MAX_CALLS]) if number == max(turns, 1) - 1 else ()


class _Played:
    """An answer with everything that is shown, computed once."""

    def __init__(self, entry: Entry | None, answer: Answer) -> None:
        self.answer = answer
        self.entry = entry
        self.views: list[TurnView] = chat(answer.record, entry)
        transcript = transcript_of(answer.record) if entry is not None else None
        self.why: Explanation = explain(answer.record, entry, transcript)
        stateful = self._stateful and transcript is not None and transcript.turns
        self.replayed = replayed(entry, transcript) if stateful and entry is not None and transcript else None

    def request(self, number: int) -> str:
        """The user's words in a turn."""
        if number >= len(self.views):
            return ""
        words = [said.text.text for said in self.views[number].messages if said.role == "user"]
        return words[-1][:MAX_REQUEST] if words else ""

    def calls(self, number: int) -> list[ShownCall]:
        """The calls of a turn, marked if the turn is wrong."""
        if self.replayed is not None and self.entry is not None and number < len(self.replayed.turns):
            wrong = self.replayed.wrong_in(number)
            if wrong is not None:
                return compare_turn(self.entry, wrong.details).made
            return [ShownCall(call) for step in self.replayed.turns[number].made for call in step]
        if number >= len(self.views):
            return []
        steps = self.views[number].steps
        return [ShownCall(call.text, result=call.result.text if call.result else "") for s in steps for call in s.calls]

    def part(self, number: int, calls: tuple[CallLine, ...]) -> Part:
        """One turn of the answer."""
        said = self._last_words(number)
        right, words, owner, state = self._judged(number)
        decided = not self._stateful and number == len(self.views) - 1
        facts = self._facts() if decided else ()
        return Part(self.answer.label, calls, said, right, words, owner, state[:MAX_STATE], facts)

    @property
    def _stateful(self) -> bool:
        return self.entry is not None and self.entry.row.checker == "state"

    def _judged(self, number: int) -> tuple[bool | None, str, str, tuple[StateRow, ...]]:
        """Whether a turn is right, its problem, and the differences of the state by system."""
        if self.replayed is None:
            broken = number < len(self.views) and self.views[number].broken
            return (False, "", self.why.owner, self.why.state) if broken else (None, "", "", ())
        if number >= len(self.replayed.turns):
            return None, "This turn was not reached.", "", ()
        wrong = self.replayed.wrong_in(number)
        if wrong is None:
            quiet = self.replayed.turns[number].quiet_calls
            return True, "Calls where none is due, which official rules let pass." if quiet else "", "", ()
        owner, rows = state_rows(wrong.details)
        return False, _words(wrong.reason.name, wrong.details), owner, rows

    def _last_words(self, number: int) -> str:
        """The last words of a turn."""
        steps = self.views[number].steps if number < len(self.views) else ()
        words = [step.text.text for step in steps if step.text is not None and not step.calls]
        return cut(clean(words[-1]), WIDTH) if words else ""

    def _facts(self) -> tuple[tuple[str, str], ...]:
        """For a single turn: the wrong arguments, and further parts of the verdict."""
        marked = [(row.label, f"{row.called or '–'} ✗ {row.mark}") for row in self.why.rows if row.mark]
        return (*islice(marked, MAX_STATE), *islice(self.why.facts, MAX_STATE))


def _words(reason: str, details: Details) -> str:
    return headline({"outcome": "failed", "reason": reason, "detail": details.to_json()})
