"""The text of a failure: request, expected, called, a mark at the problem, the rule, and advice. Plain text without
colour codes; the model's words are escaped and cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers.details import (
    UNTOLD,
    AnswerDetails,
    CallDetails,
    CountDetails,
    Details,
    EndDetails,
    MatchDetails,
    ObtainedDetails,
    QuietTurnDetails,
    ResultCountDetails,
    ResultDetails,
    ResultMatchDetails,
    ServerDetails,
    StateDetails,
    TurnDetails,
    UndueDetails,
    UnreadDetails,
    value_of,
)
from pytest_bfcl.checkers.reasons import details_of, rule_of
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.explaining import calls, turns
from pytest_bfcl.explaining.calls import call_table, calls_of, compared, other_attempts
from pytest_bfcl.explaining.facts import allowed_text, answer_text, call_text, value_text
from pytest_bfcl.failures import Verdict
from pytest_bfcl.plain_text import clean, cut, inert, shortened, whole_text

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

WIDTH = 110
LABEL = 10
MAX_LISTED = 8

Line = tuple[str, str]


def failure_text(entry: Entry, transcript: Transcript, verdict: Verdict, *, whole_request: bool = False) -> str:
    """A failed (or errored) verdict in a few aligned lines: tag and reason, then a label and a text in each.

    ``whole_request`` shows the user's words uncut; otherwise two lines (single turn) or four.
    """
    if verdict.valid:
        return "passed"
    details = details_of(verdict.reason, verdict.detail)
    lines = _request(entry, details.place, whole_request)
    if verdict.tag is not None and not verdict.tag.counts:
        lines.append(("error", cut(clean(details.error or ""), 400)))
    else:
        lines += _body(entry, transcript, details)
        rule = rule_of(verdict.reason, verdict.detail)
        if rule:
            lines.append(("rule", rule))
    if details.reference is not None:
        lines.append(("note", f"the reference {details.reference}"))
    if details.corrected_rules:
        lines.append(("rules", "decided by corrected " + ", ".join(map(str, details.corrected_rules))))
    if details.advice:
        lines.append(("advice", clean(details.advice)))
    shown = [f"  {label:<{LABEL}}{text}".rstrip() for label, text in lines]
    return "\n".join([f"{verdict.tag}: {verdict.reason}", *map(inert, shown)])


def _request(entry: Entry, turn: int | None, whole: bool) -> list[Line]:
    """The user's last words in the given turn."""
    question: Sequence[Any] = entry.question
    if turn is not None and turn < len(question):
        messages, place = question[turn], f"(turn {turn + 1} of {len(question)}) " if len(question) > 1 else ""
    else:
        messages, place = next((each for each in reversed(question) if each), []), ""
    words = [message.get("content") for message in messages if message.get("role") == "user"]
    said = clean(str(words[-1])).replace("\\n", " ") if words else ""
    if whole and words:
        return turns.request_lines(place, " ".join(whole_text(str(words[-1])).split()), max_lines=None)
    if not place:
        return [("request", shortened(said, 2 * WIDTH - 40))] if words else []
    if not words and turn is not None:
        names = ", ".join(str(document.get("name")) for document in entry.missed_function.get(turn, ()))
        said = f"no new message: now these functions are offered too: {clean(names)}"
    return turns.request_lines(place, said)


def _body(entry: Entry, transcript: Transcript, details: Details) -> list[Line]:
    """The expected and the actual behaviour, by the family of the details."""
    match details:
        case ResultCountDetails():
            return calls.count_lines(entry, transcript, details)
        case CountDetails():
            return _wrong_count(transcript, details)
        case MatchDetails():
            return _no_match(entry, transcript, details)
        case ResultMatchDetails():
            return calls.unmatched_lines(entry, transcript, details)
        case ResultDetails():
            return calls.result_lines(entry, transcript, details)
        case UnreadDetails():
            return _undecodable(entry, transcript, details)
        case UndueDetails():
            return _no_call_due(transcript, details)
        case StateDetails():
            return turns.state_lines(entry, transcript, details)
        case ObtainedDetails():
            return turns.result_lines(entry, transcript, details)
        case QuietTurnDetails():
            return turns.quiet_turn_lines(entry, transcript, details)
        case EndDetails():
            return turns.forced_lines(entry, transcript, details)
        case TurnDetails():
            return turns.empty_turn_lines(entry, transcript, details)
        case ServerDetails():
            return _server(details)
        case AnswerDetails():
            return _answer(details)
        case CallDetails():
            return _one_call(entry, transcript, details)
        case _:
            return [("reply", _reply(transcript))]


def _one_call(entry: Entry, transcript: Transcript, details: CallDetails) -> list[Line]:
    """One call and one answer: a table of arguments with a mark at the wrong one."""
    found = compared(entry, transcript, details)
    if found is None:
        return [
            ("expected", allowed_text(value_of(details.expected))),
            ("called", value_text(value_of(details.called))),
        ]
    return call_table(entry, transcript, found.call, found.wanted)


def _wrong_count(transcript: Transcript, details: CountDetails) -> list[Line]:
    lines = [("expected", f"{_calls(details.expected)}:"), *_listed(details.wanted, answer_text)]
    if not details.called:
        text = transcript.first_reply.text
        said = f"; the reply was {value_text(text, 160)}" if text else ""
        return [*lines, ("called", f"no call{said}")]
    return [*lines, ("called", f"{_calls(details.called)}:"), *_listed(details.calls, call_text)]


def _calls(count: int | None) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _listed(values: list[object] | None, text: Callable[[Any, int], str]) -> list[Line]:
    values = values or []
    lines = [("", text(value, WIDTH)) for value in values[:MAX_LISTED]]
    return [*lines, ("", f"… and {len(values) - MAX_LISTED} more")] if len(values) > MAX_LISTED else lines


def _no_match(entry: Entry, transcript: Transcript, details: MatchDetails) -> list[Line]:
    """The expected call without a fitting one, the closest call as a table, the other candidates in one line each."""
    number, total = (details.answer or 0) + 1, len(entry.possible_answer or [])
    found = compared(entry, transcript, details)
    if found is None:
        return [("expected", f"call {number} of {total} has no match")]
    calls = len(calls_of(entry, transcript))
    lines = [("expected", f"call {number} of {total} has no match: {answer_text(found.wanted, 2 * WIDTH)}")]
    lines.append(("closest", f"call {found.number + 1} of {calls}"))
    lines += call_table(entry, transcript, found.call, found.wanted)
    for other, call, why in islice(other_attempts(entry, transcript, details, found), MAX_LISTED):
        lines.append(("other", f"call {other + 1}: {call_text(call, 60)}  <-- {why}"))
    return lines


def _undecodable(entry: Entry, transcript: Transcript, details: UnreadDetails) -> list[Line]:
    lines: list[Line] = []
    answers = entry.possible_answer or []
    row = CATEGORIES.get(entry.category)
    if row is not None and row.checker == "relevance":
        lines.append(("expected", "any call"))
    elif answers and isinstance(answers[0], Mapping):
        more = f"  (and {len(answers) - 1} more)" if len(answers) > 1 else ""
        lines.append(("expected", answer_text(answers[0], 2 * WIDTH) + more))
    lines.append(("reply", _reply(transcript)))
    if details.error:
        lines.append(("", f"^ does not decode: {cut(clean(details.error), 200)}"))
    return lines


def _reply(transcript: Transcript, width: int = 3 * WIDTH) -> str:
    reply = transcript.first_reply
    if reply.tool_calls:
        shown = "; ".join(f"{clean(call.name)}({clean(call.arguments[:width])})" for call in reply.tool_calls[:5])
        return cut(shown, width)
    if not reply.text:
        return "(empty)" if transcript.inference_error is None else clean(transcript.inference_error)[:width]
    return cut(clean(reply.text[: 2 * width]), width)


def _no_call_due(transcript: Transcript, details: UndueDetails) -> list[Line]:
    calls = details.called if isinstance(details.called, list) else []
    if calls and all(isinstance(call, Mapping) and len(call) == 1 for call in calls):
        return [("expected", "no call"), ("called", cut("; ".join(call_text(call, WIDTH) for call in calls), 220))]
    return [("expected", "no call"), ("reply", _reply(transcript))]


def _server(details: ServerDetails) -> list[Line]:
    asked = clean(details.asked or "the server")
    after = "" if details.turn is None else f"after turn {details.turn + 1} "
    return [
        ("state", f"{after}{cut(asked, 2 * WIDTH)} must tell"),
        ("expected", cut(clean(str(value_of(details.expected))), 3 * WIDTH)),
        ("told", cut(clean(str(value_of(details.called))), 3 * WIDTH)),
    ]


def _answer(details: AnswerDetails) -> list[Line]:
    lines = [("expected", allowed_text(value_of(details.expected), 2 * WIDTH))]
    if details.called is not UNTOLD:
        return [*lines, ("message", value_text(details.called, 3 * WIDTH))]
    return [*lines, ("message", f"none in {details.steps or 0} steps; the last step still called something")]
