"""Why an entry failed, in parts a page can lay out: expected beside called with marks, state differences, rule.

The parts come from the checkers' own words (`pytest_bfcl.checkers.describe`, `call_rows`), so page and terminal say
the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.checkers.details import (
    AnswerDetails,
    CallDetails,
    CountDetails,
    Details,
    MatchDetails,
    ObtainedDetails,
    StateDetails,
    TurnDetails,
    UnreadDetails,
    told,
)
from pytest_bfcl.checkers.differences import ABSENT
from pytest_bfcl.checkers.reasons import details_of, rule_of
from pytest_bfcl.checkers.tables import CallRow, call_rows, compared
from pytest_bfcl.checkers.turn_text import call_marks, earlier_calls
from pytest_bfcl.checkers.wording import allowed_text, answer_text, call_text, clean, cut, value_text
from pytest_bfcl.reporting.headlines import headline

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

MAX_LISTED = 20
WIDTH = 600


class StateRow(NamedTuple):
    """One attribute of a simulated system: where it is, what it should be, what it is."""

    path: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict taken apart.

    ``rows`` compare one call with one expected call (``caption`` says which); ``expected`` and ``called`` list whole
    calls or texts (``called_label`` says what the latter are; ``expected_marks`` and ``called_marks`` what is wrong
    with them, by position); ``state`` lists what differs in the system ``owner``;
    ``facts`` are further lines of label and text. What does not apply is empty.
    """

    headline: str = ""
    caption: str = ""
    rows: tuple[CallRow, ...] = ()
    expected: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    called_label: str = "called"
    expected_marks: Mapping[int, str] = field(default_factory=dict)
    called_marks: Mapping[int, str] = field(default_factory=dict)
    owner: str = ""
    state: tuple[StateRow, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    rule: str = ""
    advice: str = ""

    @property
    def marked_expected(self) -> list[tuple[str, str]]:
        """The expected lines, each with its mark or nothing."""
        return [(line, self.expected_marks.get(number, "")) for number, line in enumerate(self.expected)]

    @property
    def marked_called(self) -> list[tuple[str, str]]:
        """The called lines, each with its mark or nothing."""
        return [(line, self.called_marks.get(number, "")) for number, line in enumerate(self.called)]


def explain(record: Mapping[str, Any], entry: Entry | None, transcript: Transcript | None) -> Explanation:
    """The explanation of one result line; without ``entry`` from what the line itself tells."""
    detail: Mapping[str, Any] = record.get("detail") or {}
    reason = str(record.get("reason") or "")
    details = details_of(reason, detail)
    outcome = record.get("outcome")
    if outcome == "passed":
        return _of_passed(record, entry)
    advice = clean(details.advice or "")
    if outcome != "failed":
        return Explanation(headline(record), advice=advice)
    rows, caption = _rows(details, entry, transcript)
    expected = [] if rows else _due(details, entry)[:MAX_LISTED]
    called = [] if rows else _made(details, record)[:MAX_LISTED]
    due_marks, made_marks = _marks(details, entry)
    state = details if isinstance(details, StateDetails) else StateDetails()
    return Explanation(
        headline(record),
        caption=caption,
        rows=tuple(rows),
        expected=tuple(expected),
        called=tuple(called),
        called_label=_label(details, called),
        expected_marks=due_marks,
        called_marks=made_marks,
        owner=clean(state.class_name or ""),
        state=tuple(_state(state.difference or {})),
        facts=(*_facts(details), *_earlier(details, entry, transcript)),
        rule=clean(rule_of(reason, detail)),
        advice=advice,
    )


def _of_passed(record: Mapping[str, Any], entry: Entry | None) -> Explanation:
    """What was accepted and what was called, for the curious."""
    calls = record.get("calls")
    called = [call_text(call, WIDTH) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    return Explanation(expected=tuple(_accepted(entry)), called=tuple(called[:MAX_LISTED]))


def _rows(details: Details, entry: Entry | None, transcript: Transcript | None) -> tuple[Sequence[CallRow], str]:
    """The comparison of one call with the expected one, and which ones these are."""
    found = compared(entry, transcript, details) if entry is not None and transcript is not None else None
    if found is None or entry is None or transcript is None:
        return (), ""
    caption = ""
    if isinstance(details, MatchDetails):
        answers = entry.possible_answer or ()
        total = f" of {len(details.called)}" if isinstance(details.called, list) else ""
        caption = f"Expected call {(details.answer or 0) + 1} of {len(answers)} beside the closest call made"
        caption += f" (call {found.number + 1}{total})"
    rows = call_rows(entry, transcript, found.call, found.wanted)
    return [row._replace(mark=row.mark.removeprefix("<-- ")) for row in rows], caption


def _due(details: Details, entry: Entry | None) -> list[str]:
    """What was expected, a line each: where the number of calls, a turn, or the very notation is at fault."""
    expected = told(details.expected)
    match details:
        case CountDetails(wanted=list(wanted)):
            return [answer_text(each, WIDTH) for each in wanted]
        case CallDetails(wanted=Mapping() as wanted) | MatchDetails(wanted=Mapping() as wanted):
            return [answer_text(wanted, WIDTH)]
        case TurnDetails() if isinstance(expected, list):
            return [_call(call) for call in expected] or ["(no call)"]
    if isinstance(expected, list):
        return [allowed_text(expected, WIDTH)]
    return _accepted(entry) or ([clean(expected)] if isinstance(expected, str) else [])


def _made(details: Details, record: Mapping[str, Any]) -> list[str]:
    """What the model did instead, a line each; its reply where there are no calls to show."""
    made = details.calls if isinstance(details, CountDetails) and details.calls is not None else told(details.called)
    if isinstance(made, list):
        return [_call(call) for call in made] or ["(no call)"]
    if isinstance(made, str):
        return [cut(made, WIDTH)]
    return _output(record) if made in (None, 0) else [value_text(made, WIDTH)]


def _marks(details: Details, entry: Entry | None) -> tuple[Mapping[int, str], Mapping[int, str]]:
    """What is wrong with the calls of the turn that failed."""
    expected, called = details.expected, details.called
    if entry is None or not isinstance(details, TurnDetails) or details.turn is None:
        return {}, {}
    if not isinstance(expected, list) or not isinstance(called, list):
        return {}, {}
    return call_marks(entry, [str(call) for call in expected], [str(call) for call in called])


def _earlier(details: Details, entry: Entry | None, transcript: Transcript | None) -> Iterator[tuple[str, str]]:
    """Calls of earlier turns that may be the cause."""
    if entry is None or transcript is None or not isinstance(details, TurnDetails):
        return
    if not isinstance(details.expected, list):
        return
    for turn, call, due in islice(earlier_calls(entry, transcript, details.turn), MAX_LISTED):
        where = f"turn {turn + 1}" if due else f"turn {turn + 1}, where no call was due"
        yield "perhaps because of", f"{_call(call)} in {where}"


def _label(details: Details, called: Sequence[str]) -> str:
    """What the model's side of the comparison is: calls, a reply in words, a final message."""
    if isinstance(details, AnswerDetails):
        return "final message"
    made = (details.calls if isinstance(details, CountDetails) else None) or details.called
    return "replied" if not isinstance(made, list) and called and called != ["(no call)"] else "called"


def _accepted(entry: Entry | None) -> list[str]:
    """The answers of an entry, a line each."""
    if entry is None:
        return []
    if entry.row.checker in ("irrelevance", "relevance"):
        return ["no call" if entry.row.checker == "irrelevance" else "a call, whichever it is"]
    answers = entry.possible_answer or []
    if entry.row.checker == "answer":
        return [allowed_text(answers, WIDTH)] if answers else []
    return [answer_text(answer, WIDTH) for answer in answers if isinstance(answer, Mapping)]


def _output(record: Mapping[str, Any]) -> list[str]:
    """The reply itself, when there are no calls to show."""
    output = record.get("output")
    return [cut(output, WIDTH)] if isinstance(output, str) and output else ["(no call)"]


def _call(call: Any) -> str:
    return call_text(call, WIDTH) if isinstance(call, Mapping) else cut(clean(str(call)), WIDTH)


def _state(difference: Mapping[str, object]) -> list[StateRow]:
    rows = []
    for path, values in difference.items():
        if isinstance(values, Mapping):
            rows.append(StateRow(clean(str(path)), _leaf(values.get("expected")), _leaf(values.get("called"))))
        else:
            rows.append(StateRow("…", clean(str(values)), ""))
    return rows


def _leaf(value: Any) -> str:
    return ABSENT if value == ABSENT else value_text(value, WIDTH)


def _facts(details: Details) -> list[tuple[str, str]]:
    facts = []
    if isinstance(details, TurnDetails) and details.turn is not None:
        facts.append(("in turn", str(details.turn + 1)))
    if isinstance(details, ObtainedDetails):
        for call, result in zip(details.missing_calls or (), details.missing or (), strict=False):
            facts.append(("never obtained", f"{cut(clean(str(call)), 200)} → {cut(clean(str(result)), 300)}"))
    if isinstance(details, UnreadDetails) and details.error:
        facts.append(("does not decode", cut(clean(details.error), 300)))
    if details.reference:
        facts.append(("note", f"the reference {clean(details.reference)}"))
    return facts[:MAX_LISTED]
