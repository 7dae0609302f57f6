"""What went wrong, in one plain sentence: the first thing a reader of a report sees of a failed entry.

Made from the result line alone, so that the list of a run needs neither the data set nor the transcripts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_bfcl.checkers.wording import allowed_text, answer_text, call_text, clean, cut, value_text

Detail = Mapping[str, Any]
Sentence = Callable[[Detail], str]


def headline(record: Mapping[str, Any]) -> str:
    """One sentence about a failed, errored or skipped record; empty for a passed one."""
    outcome, detail = record.get("outcome"), record.get("detail") or {}
    if outcome == "passed":
        return ""
    if outcome == "skipped":
        return f"Not run: {_text(detail.get('error'), 200)}" if detail.get("error") else "Not run."
    if outcome == "error":
        return f"No verdict, not counted: {_text(detail.get('error') or record.get('reason'), 240)}"
    reason = str(record.get("reason") or "")
    if reason.startswith("reply:"):
        return _cut_reply(reason, detail)
    if reason == "ast_decoder:decoder_failed" and "C2" in (record.get("corrected_rules") or ()):
        said = value_text(detail.get("called"), 140)
        return f"Its reply holds a call, but not alone: words, fences or line breaks stand around it: {said}"
    return _sentence(reason, detail)


def _cut_reply(reason: str, detail: Detail) -> str:
    said = {
        "reply:length": "The reply was cut off at the token limit.",
        "reply:context_overflow": "The conversation no longer fits into the model's context.",
        "reply:content_filter": "The provider's content filter stopped the reply.",
    }.get(reason, "The reply did not arrive in full.")
    underlying = detail.get("underlying")
    return f"{said} What arrived fails: {_sentence(str(underlying), detail)}" if underlying else said


def _sentence(reason: str, detail: Detail) -> str:
    made = _SENTENCES.get(reason)
    if made is None and reason.endswith(":wrong_count"):
        made = _wrong_count
    if made is None and reason.startswith(("value_error:", "type_error:", "dict_checker:")):
        made = _wrong_value
    return made(detail) if made is not None else (_text(detail.get("rule"), 200) or reason)


def _wrong_name(detail: Detail) -> str:
    return f"It called {_text(detail.get('called'), 80)}; this request needs {_text(detail.get('expected'), 80)}."


def _missing(detail: Detail) -> str:
    wanted = f"; it has to be {allowed_text(detail['expected'], 90)}" if detail.get("expected") else ""
    return f"The call leaves out the required argument “{_text(detail.get('param'), 60)}”{wanted}."


def _unexpected(detail: Detail) -> str:
    why = "is not documented" if "not documented" in str(detail.get("error")) else "is not expected here"
    return f"The call gives the argument “{_text(detail.get('param'), 60)}”, which {why}."


def _left_out(detail: Detail) -> str:
    wanted = allowed_text(detail.get("expected"), 80)
    return f"The call leaves out the argument “{_text(detail.get('param'), 60)}”; it has to be {wanted}."


def _wrong_value(detail: Detail) -> str:
    name = _text(detail.get("param"), 60)
    called = value_text(detail.get("called"), 90)
    if "key" in detail and "allowed" in detail:
        allowed = allowed_text(detail["allowed"], 90)
        return f"In the argument “{name}”, “{_text(detail['key'], 40)}” has to be {allowed}; given is {called}."
    if detail.get("error"):
        return f"The argument “{name}” is {called}: {_text(detail['error'], 120)}."
    return f"The argument “{name}” is {called}; accepted is {allowed_text(detail.get('expected'), 110)}."


def _wrong_type(detail: Detail) -> str:
    name, kind = _text(detail.get("param"), 60), _text(detail.get("type"), 60)
    called = value_text(detail.get("called"), 90)
    if not kind:
        return _wrong_value(detail)
    return f"The argument “{name}” is {called}, which is not of type {kind}."


def _not_text(detail: Detail) -> str:
    name, called = _text(detail.get("param"), 60), value_text(detail.get("called"), 90)
    return f"The argument “{name}” is {called}; it has to be sent as source text, in quotes."


def _wrong_count(detail: Detail) -> str:
    made, expected = detail.get("called"), detail.get("expected")
    due = "one call is expected" if expected == 1 else f"{expected} calls are expected"
    if not made:
        return f"It made no call, where {due}."
    return f"It made {'one call' if made == 1 else f'{made} calls'}, where {due}."


def _no_match(detail: Detail) -> str:
    wanted = detail.get("wanted")
    shown = answer_text(wanted, 130) if isinstance(wanted, Mapping) else f"number {detail.get('answer', 0) + 1}"
    subs = [sub for sub in detail.get("sub_errors") or () if not str(sub.get("reason")).endswith("wrong_func_name")]
    if not subs:
        return f"None of its calls is the expected {shown}."
    return f"No call is the expected {shown}. Call {subs[0]['call'] + 1}: {_of_sub(subs[0])}"


def _of_sub(sub: Detail) -> str:
    text = _sentence(str(sub.get("reason")), sub)
    return text[:1].lower() + text[1:]


def _undecodable(detail: Detail) -> str:
    called, error = detail.get("called"), _text(detail.get("error"), 90)
    said = value_text(called, 110) if isinstance(called, str) and called else ""
    if error.startswith("no tool call"):
        return f"It answered in words instead of calling a function: {said}" if said else "It called nothing."
    return f"Its reply cannot be read as a call ({error}){f': {said}' if said else ''}"


def _wrong_shape(detail: Detail) -> str:
    return f"Its reply is not a list of calls with named arguments: {value_text(detail.get('called'), 110)}."


def _call_not_due(detail: Detail) -> str:
    called = detail.get("called")
    calls = called if isinstance(called, list) else []
    shown = "; ".join(call_text(call, 100) if isinstance(call, Mapping) else _text(call, 100) for call in calls[:3])
    where = f"in turn {detail['turn'] + 1} " if isinstance(detail.get("turn"), int) else ""
    what = "where no call was due" if where else "although none of the offered functions fits the request"
    return f"It called {cut(shown, 150) or 'something'} {where}{what}."


def _broken_call_not_due(detail: Detail) -> str:
    return "It attempted a call, and a broken one, although none of the offered functions fits the request."


def _no_call(detail: Detail) -> str:
    return "It called nothing, although one of the offered functions fits the request."


def _turn(detail: Detail) -> str:
    turn = detail.get("turn")
    return f"turn {turn + 1}" if isinstance(turn, int) else "the conversation"


def _state(detail: Detail) -> str:
    difference = detail.get("difference")
    paths = [key for key in difference if key != "…"] if isinstance(difference, Mapping) else []
    shown = ", ".join(_text(path, 50) for path in paths[:3]) + (" …" if len(paths) > 3 else "")
    owner = _text(detail.get("class"), 60) or "system"
    return f"After {_turn(detail)} the {owner} is not in the expected state{f': {shown}' if shown else ''}."


def _results(detail: Detail) -> str:
    calls = detail.get("missing_calls") or []
    shown = _text(calls[0], 110) if calls else "expected calls"
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    return f"By the end of {_turn(detail)} it had not obtained the result of {shown}{more}."


def _empty_turn(detail: Detail) -> str:
    expected = detail.get("expected")
    due = "; ".join(_text(call, 80) for call in expected[:3]) if isinstance(expected, list) else ""
    return f"In {_turn(detail)} it made no call that decodes{f'; due was {cut(due, 140)}' if due else ''}."


def _forced(detail: Detail) -> str:
    return f"It did not come to an end: the step limit stopped it ({_text(detail.get('called'), 60)})."


def _no_answer(detail: Detail) -> str:
    wanted = allowed_text(detail.get("expected"), 90)
    said = f": {value_text(detail['called'], 110)}" if detail.get("called") else ""
    return f"Its final message does not contain {wanted}{said}"


def _no_message(detail: Detail) -> str:
    return "It never came to a final message: its last step still called something."


def _text(value: Any, width: int) -> str:
    return "" if value is None else cut(clean(str(value)), width)


_SENTENCES: dict[str, Sentence] = {
    "simple_function_checker:wrong_func_name": _wrong_name,
    "simple_function_checker:missing_required": _missing,
    "simple_function_checker:unexpected_param": _unexpected,
    "simple_function_checker:missing_optional": _left_out,
    "type_error:simple": _wrong_type,
    "type_error:nested": _wrong_type,
    "type_error:java": _not_text,
    "type_error:js": _not_text,
    "parallel_function_checker_no_order:cannot_find_match": _no_match,
    "ast_decoder:decoder_failed": _undecodable,
    "ast_decoder:decoder_wrong_output_format": _wrong_shape,
    "relevance_error:decoder_failed": _no_call,
    "irrelevance_error:decoder_success": _call_not_due,
    "irrelevance_error:malformed_call": _broken_call_not_due,
    "multi_turn:irrelevance_error:decoder_success": _call_not_due,
    "multi_turn:instance_state_mismatch": _state,
    "multi_turn:execution_response_mismatch": _results,
    "multi_turn:empty_turn_model_response": _empty_turn,
    "multi_turn:force_terminated": _forced,
    "agentic:answer_not_found": _no_answer,
    "agentic:no_last_message": _no_message,
}
