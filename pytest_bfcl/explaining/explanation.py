"""Why an entry failed, in parts for a page: expected and actual calls with marks, state differences, rule.

The lines on a terminal use the same parts (`calls`, `turns`, `results`), so page and terminal agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.checkers.details import (
    AnswerDetails,
    CallDetails,
    CountDetails,
    Details,
    MatchDetails,
    ObtainedDetails,
    QuietTurnDetails,
    ResultDetails,
    ServerDetails,
    StateDetails,
    TriedDetails,
    TurnDetails,
    UnreadDetails,
    value_of,
)
from pytest_bfcl.checkers.reasons import details_of, rule_of
from pytest_bfcl.checkers.state import ABSENT
from pytest_bfcl.explaining.calls import (
    CallRow,
    Compared,
    call_rows,
    calls_of,
    compared,
    given_result,
    other_attempts,
    wanted_result,
)
from pytest_bfcl.explaining.facts import allowed_text, answer_text, call_text, value_text
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.explaining.turns import ShownCall, compare_turn, earlier_calls, undecoded_steps, why_quiet
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import clean, cut

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

MAX_LISTED = 20
WIDTH = 600
NO_CALL = ShownCall("(no call)")


class StateRow(NamedTuple):
    """One attribute of a simulated system: its place, expected and actual value."""

    path: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of a verdict. ``rows`` compare one call with one expected call (named by ``caption``). ``expected`` and
    ``called`` list whole calls or texts with their problem and the tool's answer (``called_label`` names the latter).
    ``state`` lists the differences in the system ``owner``; ``facts`` are further lines of label and text. Other fields
    are empty.
    """

    headline: str = ""
    caption: str = ""
    rows: tuple[CallRow, ...] = ()
    expected: tuple[ShownCall, ...] = ()
    called: tuple[ShownCall, ...] = ()
    called_label: str = "called"
    owner: str = ""
    state: tuple[StateRow, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    rule: str = ""
    advice: str = ""


def explain(record: Fields, entry: Entry | None, transcript: Transcript | None) -> Explanation:
    """The explanation of one result line; without ``entry`` it uses only the line."""
    detail: Fields = record.get("detail") or {}
    reason = str(record.get("reason") or "")
    details = details_of(reason, detail)
    outcome = record.get("outcome")
    if outcome == "passed":
        return _of_passed(record, entry)
    advice = clean(details.advice or "")
    if outcome != "failed":
        return Explanation(headline(record), advice=advice)
    found = compared(entry, transcript, details) if entry is not None and transcript is not None else None
    rows, caption = _rows(details, entry, transcript, found)
    due, made = ([], []) if rows else _sides(details, record, entry, transcript)
    owner, state = state_rows(details)
    return Explanation(
        headline(record),
        caption=caption,
        rows=tuple(rows),
        expected=tuple(due),
        called=tuple(made),
        called_label=_label(details, made),
        owner=owner,
        state=state,
        facts=tuple(_facts(details, entry, transcript, found)),
        rule=clean(rule_of(reason, detail)),
        advice=advice,
    )


def _of_passed(record: Fields, entry: Entry | None) -> Explanation:
    """All accepted and actual calls, for details."""
    calls = record.get("calls")
    called = [call_text(call, WIDTH) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    return Explanation(expected=tuple(map(ShownCall, accepted(entry))), called=tuple(_listed(called)))


def _rows(
    details: Details, entry: Entry | None, transcript: Transcript | None, found: Compared | None
) -> tuple[Sequence[CallRow], str]:
    """The comparison of one call with the expected one, and the numbers of both."""
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


def _sides(
    details: Details, record: Fields, entry: Entry | None, transcript: Transcript | None
) -> tuple[list[ShownCall], list[ShownCall]]:
    """Expected and actual behaviour, if they are not one call each."""
    match details:
        case TurnDetails(expected=list(), called=list()) if entry is not None:
            turn = compare_turn(entry, details)
            due, made = turn.due or [NO_CALL], turn.made or [NO_CALL]
            return [_short_call(call) for call in due[:MAX_LISTED]], [_short_call(call) for call in made[:MAX_LISTED]]
        case ResultDetails() if entry is not None and transcript is not None and details.call is not None:
            calls = calls_of(entry, transcript)[details.call :][:1]
            made = [ShownCall(call_text(call, WIDTH), result=given_result(details, WIDTH)) for call in calls]
            return [ShownCall(wanted_result(details, WIDTH))], made or _listed(_made_lines(details, record))
    return _listed(_due(details, entry)), _listed(_made_lines(details, record))


def _listed(lines: Sequence[str]) -> list[ShownCall]:
    return [ShownCall(line) for line in lines[:MAX_LISTED]]


def _short_call(call: ShownCall) -> ShownCall:
    return ShownCall(cut(clean(call.text), WIDTH), call.mark, cut(clean(call.result), WIDTH))


def _due(details: Details, entry: Entry | None) -> list[str]:
    """Expected calls, a line each, if the number of calls, a turn or the notation is wrong."""
    expected = value_of(details.expected)
    match details:
        case CountDetails(wanted=list(wanted)):
            return [answer_text(each, WIDTH) for each in wanted]
        case CallDetails(wanted=Mapping() as wanted) | MatchDetails(wanted=Mapping() as wanted):
            return [answer_text(wanted, WIDTH)]
        case QuietTurnDetails() if entry is not None:
            return [f"no call: {why_quiet(entry, details)}"]
        case TurnDetails() if isinstance(expected, list):
            return [_call(call) for call in expected] or [NO_CALL.text]
    if isinstance(expected, list):
        return [allowed_text(expected, WIDTH)]
    return accepted(entry) or ([clean(expected)] if isinstance(expected, str) else [])


def _made_lines(details: Details, record: Fields) -> list[str]:
    """The model's calls, a line each; without calls its reply."""
    made = (
        details.calls if isinstance(details, CountDetails) and details.calls is not None else value_of(details.called)
    )
    if isinstance(made, list):
        return [_call(call) for call in made] or [NO_CALL.text]
    if isinstance(made, str):
        return [cut(made, WIDTH)]
    return _output(record) if made in (None, 0) else [value_text(made, WIDTH)]


def _earlier(details: Details, entry: Entry | None, transcript: Transcript | None) -> Iterator[tuple[str, str]]:
    """Calls of earlier turns that may be the cause."""
    if entry is None or transcript is None or not isinstance(details, TurnDetails):
        return
    if not isinstance(details.expected, list):
        return
    for turn, call, due in islice(earlier_calls(entry, transcript, details.turn), MAX_LISTED):
        where = f"turn {turn + 1}" if due else f"turn {turn + 1}, where no call was due"
        yield "perhaps because of", f"{_call(call)} in {where}"


def _label(details: Details, called: Sequence[ShownCall]) -> str:
    """The kind of the model's side of the comparison: calls, a reply in words, a final message."""
    if isinstance(details, ServerDetails):
        return "the server told"
    if isinstance(details, AnswerDetails):
        return "final message"
    made = (details.calls if isinstance(details, CountDetails) else None) or details.called
    return "replied" if not isinstance(made, list) and called and called != [NO_CALL] else "called"


def accepted(entry: Entry | None) -> list[str]:
    """The answers of an entry, a line each."""
    if entry is None:
        return []
    if entry.row.checker in ("irrelevance", "relevance"):
        return ["no call" if entry.row.checker == "irrelevance" else "a call, whichever it is"]
    answers = entry.possible_answer or []
    if entry.row.checker == "answer":
        return [allowed_text(answers, WIDTH)] if answers else []
    return [answer_text(answer, WIDTH) for answer in answers if isinstance(answer, Mapping)]


def _output(record: Fields) -> list[str]:
    """The reply itself, if there are no calls."""
    output = record.get("output")
    return [cut(output, WIDTH)] if isinstance(output, str) and output else [NO_CALL.text]


def _call(call: object) -> str:
    return call_text(call, WIDTH) if isinstance(call, Mapping) else cut(clean(str(call)), WIDTH)


def state_rows(details: Details) -> tuple[str, tuple[StateRow, ...]]:
    """The system with an unexpected state, and its differences; nothing for other details."""
    if not isinstance(details, StateDetails):
        return "", ()
    rows = []
    for path, values in (details.difference or {}).items():
        if isinstance(values, Mapping):
            rows.append(StateRow(clean(str(path)), _leaf(values.get("expected")), _leaf(values.get("called"))))
        else:
            rows.append(StateRow("…", clean(str(values)), ""))
    return clean(details.class_name or ""), tuple(rows)


def _leaf(value: object) -> str:
    return ABSENT if value == ABSENT else value_text(value, WIDTH)


def _facts(
    details: Details, entry: Entry | None, transcript: Transcript | None, found: Compared | None
) -> Iterator[tuple[str, str]]:
    """Further lines of label and text, in limited number."""
    if isinstance(details, TurnDetails) and details.turn is not None:
        yield "in turn", str(details.turn + 1)
    if isinstance(details, TurnDetails) and isinstance(details.expected, list) and transcript is not None:
        for said, last_words in undecoded_steps(transcript, details):
            yield "then said" if last_words else "undecoded", said
    if isinstance(details, ObtainedDetails):
        missing = zip(details.missing_calls or (), details.missing or (), strict=False)
        for call, result in islice(missing, MAX_LISTED):
            yield "never obtained", f"{cut(clean(str(call)), 200)} → {cut(clean(str(result)), 300)}"
    if isinstance(details, UnreadDetails) and details.error:
        yield "does not decode", cut(clean(details.error), 300)
    if isinstance(details, TriedDetails) and entry is not None and transcript is not None:
        for number, call, why in islice(other_attempts(entry, transcript, details, found), MAX_LISTED):
            yield f"call {number + 1}", f"{call_text(call, WIDTH)} ✗ {why}"
    if details.reference:
        yield "note", f"the reference {clean(details.reference)}"
    yield from _earlier(details, entry, transcript)
