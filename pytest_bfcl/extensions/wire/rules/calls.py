"""Rules about an answer's content: calls and arguments, text, separate reasoning, and the ending.

Calls exist, with offered names and the dictated arguments, which the schema allows. Calls, text and reasoning never
contain parts of each other.
"""

from __future__ import annotations

from pytest_bfcl.extensions.wire.chat import REASONING
from pytest_bfcl.extensions.wire.differences import count, lost_call, same_but_signs
from pytest_bfcl.extensions.wire.replies import CALLS, LENGTH, STOP, Call, Reply
from pytest_bfcl.extensions.wire.requests import message_text
from pytest_bfcl.extensions.wire.row import Found, Judged, RowJudges, of_calls, readable, whole, wrong
from pytest_bfcl.formats.detection import sign_in, values_in
from pytest_bfcl.tools.json_schema import argument_problem


@whole
def _there(judged: Judged) -> Found:
    """The dictated calls, by number and name."""
    reply, wanted = judged.reply, judged.wanted
    if not wanted:
        return None
    names, due = [call.name for call in reply.calls], [each.name for each in wanted]
    if names == due:
        return ()
    if names and judged.cell.choice == "named":  # another function or several calls: the rule of the choice says so
        return None
    counted = count(wanted, reply)
    if counted.kind == "damaged":
        return wrong(counted.why, certain=False)
    if not names:
        elsewhere = _elsewhere(reply, str(next(iter(wanted[0].arguments.values()))))
        return wrong(elsewhere, certain=False) or wrong("no call, though it was dictated", weighed=True)
    if sorted(map(str, names)) == sorted(due):
        return wrong(f"the calls are in another order: {names}", weighed=True)
    return wrong(f"the calls are {names!r:.200}, not {due}", weighed=True)


def _elsewhere(reply: Reply, word: str) -> str:
    raw = reply.exchange.text
    if reply.finish == CALLS or (word in raw and word not in reply.text and word not in reply.reasoning):
        return "the answer has a call somewhere, but none where calls are"
    return ""


@whole
def _dictated(judged: Judged) -> Found:
    """The arguments of the dictated calls, if the calls exist."""
    match = judged.match
    if not judged.wanted or len(judged.reply.calls) != len(judged.wanted):
        return None
    if match.kind == "damaged":
        return wrong(match.why, certain=False)
    return wrong(match.why if match.kind != "exact" else "", weighed=True)


@readable
@of_calls
def _offered(judged: Judged) -> Found:
    odd = next((call for call in judged.reply.calls if judged.parameters(call.name) is None), None)
    if odd is None:
        return ()
    promised = judged.cell.forced or judged.cell.strict or _changed(judged, odd)
    return wrong(f"{odd.name!r:.80} is called and was not offered", certain=False, weighed=not promised)


def _changed(judged: Judged, call: Call) -> bool:
    """Whether a name is an offered one with other signs, or half of it."""
    name = call.name
    return not isinstance(name, str) or any(name and same_but_signs(tool.name, name) for tool in judged.request.tools)


@of_calls
def _text(judged: Judged) -> Found:
    odd = next((call for call in judged.reply.calls if not isinstance(call.arguments, str)), None)
    return wrong(f"the arguments are no text but {type(odd.arguments).__name__}" if odd else "")


@whole
@of_calls
def _parse(judged: Judged) -> Found:
    calls = judged.reply.calls
    odd = next((call for call in calls if isinstance(call.arguments, str) and call.values is None), None)
    return wrong(f"the arguments are no JSON object: {odd.arguments!a:.200}" if odd else "", certain=False)


@whole
def _schema(judged: Judged) -> Found:
    """Violations of the sent schemas by the arguments; with ``strict`` the server promised to obey them."""
    pairs = [(call.values, judged.parameters(call.name)) for call in judged.reply.calls]
    found = [argument_problem(schema, values) for values, schema in pairs if values is not None and schema is not None]
    if not found:
        return None
    said = next((each[1] for each in found if each), "")
    if judged.cell.strict:
        return wrong(f"strict was accepted, and the schema is not kept: {said}" if said else "")
    return wrong(said, weighed=True)


@whole
def _required(judged: Judged) -> Found:
    if judged.cell.choice != "required":
        return None
    lost = lost_call(judged.reply) or "text instead"
    return wrong("" if judged.reply.calls else f"tool_choice required, and no call; {lost}")


@whole
def _named(judged: Judged) -> Found:
    if judged.cell.choice != "named":
        return None
    name, calls = str(judged.request.choice)[1:], judged.reply.calls
    if not calls:
        return wrong(f"tool_choice names {name}, and no call; {lost_call(judged.reply) or 'text instead'}")
    if other := [call.name for call in calls if call.name != name]:
        return wrong(f"tool_choice names {name}, and {other[0]!r:.80} is called")
    return wrong(f"tool_choice names {name}, and it is called {len(calls)} times" if len(calls) > 1 else "")


@readable
def _none(judged: Judged) -> Found:
    if judged.cell.choice != "none":
        return None
    return wrong("tool_choice none, and yet a call" if judged.reply.calls else "")


def _own_ids(judged: Judged) -> Found:
    ids = [repr(call.id) for call in judged.reply.calls]
    if len(ids) < 2:
        return None
    return wrong(f"two calls of one answer have the same id {ids[0]:.80}" if len(set(ids)) < len(ids) else "")


# -- the text and the reasoning --------------------------------------------------------------------------------------

_DETAILS = "reasoning_details"
"""Reasoning in its own form, next to a text."""
THINKS = ("<think>", "</think>", "<thinking>", "<|channel|>analysis", "[THINK]", "<seed:think>", "◁think▷")
LONGEST = 20_000
"""Longest text that is searched for copies of calls."""


@readable
def _markers(judged: Judged) -> Found:
    reply = judged.reply
    if judged.wanted and not reply.calls:
        return None
    if marker := sign_in(reply.text):
        where = "beside the call" if reply.calls else "though there is no call"
        return wrong(f"{marker!r} stands in the content {where}", marker.encode())
    if not reply.calls:
        return () if reply.text else None
    if any(_copied(reply.text[:LONGEST], call) for call in reply.calls):
        return wrong("the call stands in the content too, as JSON", reply.text.encode()[:200], certain=False)
    if marker := sign_in(reply.reasoning):
        return wrong(f"{marker!r} stands in the reasoning", marker.encode(), certain=False)
    return ()


def _streamed_markers(judged: Judged) -> Found:
    found, twin = _markers(judged), judged.twin
    if found or found is None or twin is None or twin.text or not twin.calls:
        return found
    values = [value for each in judged.wanted for value in each.arguments.values() if isinstance(value, str)]
    copied = next((value for value in values if value in judged.reply.text), None)
    return wrong(
        f"the argument {copied!r} stands in the content, unstreamed there is none" if copied else "", weighed=True
    )


def _copied(text: str, call: Call) -> bool:
    """Whether a call's arguments are in a text as a JSON object, alone or inside another."""
    if not call.values or "{" not in text:
        return False
    values = (each for value in values_in(text) for each in (value if isinstance(value, list) else [value]))
    found = (value for value in values if isinstance(value, dict))
    return any(call.values in (value, value.get("arguments"), value.get("parameters")) for value in found)


@readable
def _apart(judged: Judged) -> Found:
    reply = judged.reply
    if mark := next((mark for mark in THINKS if mark in reply.text), None):
        return wrong(f"reasoning stands in the content, with {mark!r}", mark.encode())
    if not reply.reasoning:
        odd = sorted(reply.reasoning_in - {*REASONING, _DETAILS}) if judged.api == "chat" else []
        return wrong(f"reasoning stands in {odd[0]!r:.60}, where no client looks for it") if odd else None
    if len(reply.reasoning) > 20 and reply.reasoning.strip() in reply.text:
        return wrong("the reasoning stands in the content too")
    if judged.wanted and not reply.calls and reply.finish != LENGTH:
        lost = lost_call(Reply(reply.exchange, reasoning=reply.reasoning))
        return wrong(lost, certain=False) if lost else None
    return ()


def _streamed_apart(judged: Judged) -> Found:
    reply, twin = judged.reply, judged.twin
    found = _apart(judged)
    if found or twin is None or twin.problem or reply.problem:
        return found
    if not twin.reasoning and not reply.reasoning:
        return None
    if len(twin.reasoning) > 20 and twin.reasoning.strip() in reply.text:
        return wrong("the reasoning of the unstreamed answer stands in the streamed content")
    if len(twin.text) > 20 and twin.text.strip() in reply.reasoning and twin.text not in twin.reasoning:
        return wrong("the text of the unstreamed answer stands in the streamed reasoning")
    if bool(twin.reasoning) != bool(reply.reasoning):
        one, two = ("unstreamed", "streamed") if twin.reasoning else ("streamed", "unstreamed")
        return wrong(f"{one} there is reasoning in its own field, {two} there is none", weighed=True)
    if twin.reasoning_in != reply.reasoning_in:
        fields = [" and ".join(sorted(each.reasoning_in)) for each in (twin, reply)]
        return wrong(f"unstreamed the reasoning stands in {fields[0]}, streamed in {fields[1]}")
    return ()


@readable
def _same_text(judged: Judged) -> Found:
    reply, twin = judged.reply, judged.twin
    if judged.cell.task != "none due" or judged.cell.forced or twin is None or reply.calls:
        return None
    text = message_text(judged.request)
    if twin.text.strip() != text:  # the model writes something else
        return None
    return wrong("" if reply.text.strip() == text else f"the text is {reply.text!a:.120}", weighed=True)


# -- the end and the cost --------------------------------------------------------------------------------------------


@of_calls
def _ends_calls(judged: Judged) -> Found:
    finish = judged.reply.finish
    if finish == LENGTH:
        return None
    # A call that was forced may end with stop: the guide to structured outputs says so.
    right = (CALLS, STOP) if judged.cell.forced else (CALLS,)
    return wrong("" if finish in right else f"the answer has a call and ends with {finish!r}")


@whole
def _ends_text(judged: Judged) -> Found:
    if judged.reply.calls or judged.wanted:
        return None
    finish = judged.reply.finish
    return wrong("" if finish == STOP else f"the answer is a text and ends with {finish!r}")


@readable
def _usage(judged: Judged) -> Found:
    usage = judged.reply.usage
    told = usage is not None and None not in (usage.input, usage.output, usage.total)
    return wrong("" if told else f"usage is missing or has a field that is no whole number: {usage}")


def _sums(judged: Judged) -> Found:
    usage = judged.reply.usage
    if usage is None or usage.input is None or usage.output is None:
        return None
    said = bool(judged.reply.calls or judged.reply.text)
    if usage.input <= 0 or (said and usage.output <= 0):
        return wrong(f"the answer cost {usage.input} tokens in and {usage.output} out")
    added = usage.input + usage.output
    return wrong("" if usage.total == added else f"{usage.input} + {usage.output} tokens are not {usage.total}")


@readable
def _stream_usage(judged: Judged) -> Found:
    reply, twin = judged.reply, judged.twin
    if reply.usage is None:
        return wrong("the stream tells no usage, though it was asked for")
    if odd := _sums(judged):
        return odd
    asked = bool(judged.wanted) and judged.match.kind == "exact"  # the same question had the same answer
    if twin is None or twin.usage is None or not asked:
        return ()
    one, two = twin.usage, reply.usage
    if one.input != two.input:
        return wrong(f"the same prompt has {one.input} tokens unstreamed and {two.input} streamed")
    apart = abs((one.output or 0) - (two.output or 0)) > max(2, (one.output or 0) // 5)
    said = f"the same answer has {one.output} tokens unstreamed and {two.output} streamed"
    return wrong(said if apart and _said(twin) == _said(reply) else "")


def _said(reply: Reply) -> object:
    return reply.reasoning, reply.text, [(call.name, call.arguments) for call in reply.calls]


JUDGES: RowJudges = {
    "call_recognised": lambda judged: _there(judged) if judged.cell.task == "one" else None,
    "arguments_text": _text,
    "arguments_parse": _parse,
    "calls_unstreamed": lambda judged: _there(judged) if judged.cell.task == "several" else None,
    "arguments_dictated": _dictated,
    "stream_calls": _there,
    "stream_arguments": lambda judged: _parse(judged) or _dictated(judged),
    "names_offered": _offered,
    "arguments_schema": lambda judged: None if judged.cell.strict else _schema(judged),
    "strict": lambda judged: _schema(judged) if judged.cell.strict else None,
    "choice_required": _required,
    "choice_required_stream": _required,
    "choice_function": _named,
    "choice_function_stream": _named,
    "choice_none": _none,
    "ids_in_answer": _own_ids,
    "content_markers": _markers,
    "stream_markers": _streamed_markers,
    "stream_text": _same_text,
    "reasoning_apart": _apart,
    "stream_reasoning": _streamed_apart,
    "finish_calls": _ends_calls,
    "finish_stop": _ends_text,
    "stream_finish": readable(lambda judged: _ends_calls(judged) if judged.reply.calls else _ends_text(judged)),
    "usage_present": _usage,
    "usage_plausible": _sums,
    "stream_usage": _stream_usage,
}
