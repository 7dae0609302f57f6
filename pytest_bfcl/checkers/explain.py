"""What a person reads about a failure: request, expected, called, a mark at what broke, the rule, and advice.

Plain text without colour codes; whatever a model wrote is escaped and cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers import result_text, tables, turn_text
from pytest_bfcl.checkers.entries import checker_of
from pytest_bfcl.checkers.problem import RULE_WORDS
from pytest_bfcl.checkers.wording import allowed_text, answer_text, call_text, clean, cut, shortened, value_text
from pytest_bfcl.failures import Verdict

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript

WIDTH = 110
LABEL = 10
MAX_LISTED = 8

Line = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FailureText:
    """A failure in words: ``title`` (tag and reason) and ``lines`` of label and text; a label may be empty."""

    title: str
    lines: tuple[Line, ...]

    def __str__(self) -> str:
        body = [f"  {label:<{LABEL}}{text}".rstrip() for label, text in self.lines]
        return "\n".join([self.title, *body])


def failure_text(entry: Entry, transcript: Transcript, verdict: Verdict) -> str:
    """The text of a failed (or errored) verdict, a few aligned lines."""
    return str(describe(entry, transcript, verdict))


def describe(entry: Entry, transcript: Transcript, verdict: Verdict) -> FailureText:
    """The parts of `failure_text`; for a passed verdict only a title."""
    if verdict.valid:
        return FailureText("passed", ())
    detail = verdict.detail
    reason = str(detail.get("underlying") or verdict.reason or "")
    lines: list[Line] = []
    lines += _request(entry, detail.get("turn", detail.get("last_turn")))
    if verdict.tag is not None and not verdict.tag.counts:
        lines.append(("error", cut(clean(str(detail.get("error", ""))), 400)))
    else:
        lines += _body(reason)(entry, transcript, detail)
        rule = RULE_WORDS.get(verdict.reason or "") or detail.get("rule")
        if rule:
            lines.append(("rule", str(rule)))
    if "reference" in detail:
        lines.append(("note", f"the reference {detail['reference']}"))
    if detail.get("corrected_rules"):
        lines.append(("rules", "decided by corrected " + ", ".join(detail["corrected_rules"])))
    if detail.get("advice"):
        lines.append(("advice", clean(str(detail["advice"]))))
    return FailureText(f"{verdict.tag}: {verdict.reason}", tuple(lines))


def _request(entry: Entry, turn: Any) -> list[Line]:
    """The user's last words of the turn in question, shortened."""
    turns: Sequence[Any] = entry.question
    if isinstance(turn, int) and 0 <= turn < len(turns):
        messages, place = turns[turn], f"(turn {turn + 1} of {len(turns)}) " if len(turns) > 1 else ""
    else:
        messages, place = next((each for each in reversed(turns) if each), []), ""
    words = [message.get("content") for message in messages if message.get("role") == "user"]
    said = clean(str(words[-1])).replace("\\n", " ") if words else ""
    if not place:
        return [("request", shortened(said, 2 * WIDTH - 40))] if words else []
    if not words and isinstance(turn, int):
        names = ", ".join(str(document.get("name")) for document in entry.missed_function.get(turn, ()))
        said = f"no new message: now these functions are offered too: {clean(names)}"
    return turn_text.request_lines(place, said)


def _body(reason: str) -> Callable[[Entry, Transcript, Mapping[str, Any]], list[Line]]:
    if reason in _BODIES:
        return _BODIES[reason]
    if reason.startswith(_EXECUTED):
        return result_text.result_lines
    if reason.endswith(":wrong_count"):
        return _wrong_count
    return _one_call


def _one_call(entry: Entry, transcript: Transcript, detail: Mapping[str, Any]) -> list[Line]:
    """One call against one answer: a table of arguments with a mark at the broken one."""
    wanted = detail.get("wanted")
    calls = tables.calls_of(entry, transcript)
    number = detail.get("call")
    if not isinstance(wanted, Mapping) or not isinstance(number, int) or number >= len(calls):
        return [("expected", allowed_text(detail.get("expected"))), ("called", value_text(detail.get("called")))]
    return tables.call_table(entry, transcript, calls[number], wanted)


def _wrong_count(entry: Entry, transcript: Transcript, detail: Mapping[str, Any]) -> list[Line]:
    lines = [("expected", f"{_calls(detail.get('expected'))}:"), *_listed(detail.get("wanted"), answer_text)]
    made = detail.get("called")
    if not made:
        text = transcript.first_reply.text
        said = f"; the reply was {value_text(text, 160)}" if text else ""
        return [*lines, ("called", f"no call{said}")]
    return [*lines, ("called", f"{_calls(made)}:"), *_listed(detail.get("calls"), call_text)]


def _calls(count: Any) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _listed(values: Any, text: Callable[[Any, int], str]) -> list[Line]:
    values = values if isinstance(values, list) else []
    lines = [("", text(value, WIDTH)) for value in values[:MAX_LISTED]]
    return [*lines, ("", f"… and {len(values) - MAX_LISTED} more")] if len(values) > MAX_LISTED else lines


def _no_match(entry: Entry, transcript: Transcript, detail: Mapping[str, Any]) -> list[Line]:
    """The expected call nothing fits, the closest call as a table, the other candidates in one line each."""
    wanted, number = detail.get("wanted"), detail.get("answer", 0)
    answers = entry.possible_answer or []
    calls = tables.calls_of(entry, transcript)
    subs = [sub for sub in detail.get("sub_errors", ()) if sub["call"] < len(calls)]
    if not isinstance(wanted, Mapping) or not subs:
        return [("expected", f"call {number + 1} of {len(answers)} has no match")]
    lines = [("expected", f"call {number + 1} of {len(answers)} has no match: {answer_text(wanted, 2 * WIDTH)}")]
    closest = min(subs, key=lambda sub: tables.distance(entry, transcript, calls[sub["call"]], wanted))
    lines.append(("closest", f"call {closest['call'] + 1} of {len(calls)}"))
    lines += tables.call_table(entry, transcript, calls[closest["call"]], wanted)
    for sub in [sub for sub in subs if sub is not closest][:MAX_LISTED]:
        shown = call_text(calls[sub["call"]], 60)
        lines.append(("other", f"call {sub['call'] + 1}: {shown}  <-- {sub['reason']}"))
    return lines


def _undecodable(entry: Entry, transcript: Transcript, detail: Mapping[str, Any]) -> list[Line]:
    lines: list[Line] = []
    answers = entry.possible_answer or []
    if checker_of(entry) == "relevance":
        lines.append(("expected", "any call"))
    elif answers and isinstance(answers[0], Mapping):
        more = f"  (and {len(answers) - 1} more)" if len(answers) > 1 else ""
        lines.append(("expected", answer_text(answers[0], 2 * WIDTH) + more))
    lines.append(("reply", _reply(transcript)))
    if detail.get("error"):
        lines.append(("", f"^ does not decode: {cut(clean(str(detail['error'])), 200)}"))
    return lines


def _reply(transcript: Transcript, width: int = 3 * WIDTH) -> str:
    reply = transcript.first_reply
    if reply.tool_calls:
        shown = "; ".join(f"{clean(call.name)}({clean(call.arguments[:width])})" for call in reply.tool_calls[:5])
        return cut(shown, width)
    if not reply.text:
        return "(empty)" if transcript.inference_error is None else clean(transcript.inference_error)[:width]
    return cut(clean(reply.text[: 2 * width]), width)


def _no_call_due(entry: Entry, transcript: Transcript, detail: Mapping[str, Any]) -> list[Line]:
    called = detail.get("called")
    calls = called if isinstance(called, list) else []
    if calls and all(isinstance(call, str) for call in calls):
        return [("expected", "no call in this turn"), ("called", cut("; ".join(map(clean, calls)), 2 * WIDTH))]
    if calls and all(isinstance(call, Mapping) and len(call) == 1 for call in calls):
        return [("expected", "no call"), ("called", cut("; ".join(call_text(call, WIDTH) for call in calls), 220))]
    return [("expected", "no call"), ("reply", _reply(transcript))]


def _answer(entry: Entry, transcript: Transcript, detail: Mapping[str, Any]) -> list[Line]:
    lines = [("expected", allowed_text(detail.get("expected"), 2 * WIDTH))]
    if "called" in detail:
        return [*lines, ("message", value_text(detail["called"], 3 * WIDTH))]
    return [*lines, ("message", f"none in {detail.get('steps', 0)} steps; the last step still called something")]


_BODIES: dict[str, Callable[[Any, Any, Mapping[str, Any]], list[Line]]] = {
    "ast_decoder:decoder_failed": _undecodable,
    "ast_decoder:decoder_wrong_output_format": _undecodable,
    "relevance_error:decoder_failed": _undecodable,
    "parallel_function_checker_no_order:cannot_find_match": _no_match,
    "irrelevance_error:decoder_success": _no_call_due,
    "irrelevance_error:malformed_call": _no_call_due,
    "multi_turn:irrelevance_error:decoder_success": turn_text.quiet_turn_lines,
    "multi_turn:instance_state_mismatch": turn_text.state_lines,
    "multi_turn:execution_response_mismatch": turn_text.result_lines,
    "multi_turn:empty_turn_model_response": turn_text.empty_turn_lines,
    "multi_turn:force_terminated": turn_text.forced_lines,
    "agentic:answer_not_found": _answer,
    "agentic:no_last_message": _answer,
    "executable_decoder:decoder_failed": _undecodable,
    "executable_decoder:wrong_output_format": _undecodable,
    "executable_checker:cannot_find_match": result_text.unmatched_lines,
    "value_error:exec_result_count": result_text.count_lines,
    "simple_exec_checker:wrong_count": result_text.count_lines,
    "executable_checker_rest:wrong_count": result_text.count_lines,
    "sql_checker:wrong_count": result_text.count_lines,
    "chat:call_made": _no_call_due,
    "chat:no_text": _no_call_due,
}
_EXECUTED = ("executable_checker", "sql_checker")
