"""The calls in an answer: there, named as offered, with the arguments that were dictated and the schema allows."""

from __future__ import annotations

from pytest_bfcl.extensions.wire.cells import Judged
from pytest_bfcl.extensions.wire.differences import lost_call, same_but_signs
from pytest_bfcl.extensions.wire.replies import CALLS, LENGTH, Call, Reply
from pytest_bfcl.extensions.wire.row import Found, RowJudges, wrong
from pytest_bfcl.tools.json_schema import argument_problem


def _whole(judged: Judged) -> bool:
    """Whether the answer can be read and was not cut."""
    return not judged.reply.problem and judged.reply.finish != LENGTH


def _there(judged: Judged) -> Found:
    """The dictated calls, by number and name."""
    reply, wanted = judged.reply, judged.wanted
    if not wanted or not _whole(judged):
        return None
    names, due = [call.name for call in reply.calls], [each.name for each in wanted]
    if names == due:
        return ()
    if names and judged.cell.choice == "named":  # another function or several calls: the rule of the choice says so
        return None
    if not names:
        lost = lost_call(reply) or _elsewhere(reply, str(next(iter(wanted[0].arguments.values()))))
        return wrong(lost, certain=False) or wrong("no call, though it was dictated", weighed=True)
    if len(names) >= 2 * len(due) and len({repr((call.name, call.arguments)) for call in reply.calls}) <= len(due):
        return wrong(f"{len(names)} calls for {len(due)}: calls are doubled", certain=False)
    if len(names) < len(due) and (lost := _merged(reply) or lost_call(reply)):
        return wrong(f"{len(names)} of {len(due)} calls: {lost}", certain=False)
    if sorted(map(str, names)) == sorted(due):
        return wrong(f"the calls are in another order: {names}", weighed=True)
    return wrong(f"the calls are {names!r:.200}, not {due}", weighed=True)


def _elsewhere(reply: Reply, word: str) -> str:
    raw = reply.exchange.text
    if reply.finish == CALLS or (word in raw and word not in reply.text and word not in reply.reasoning):
        return "the answer has a call somewhere, but none where calls are"
    return ""


def _merged(reply: Reply) -> str:
    broken = next((call for call in reply.calls if isinstance(call.arguments, str) and call.values is None), None)
    return f"broken arguments: {broken.arguments!a:.120}" if broken else ""


def _recognised(judged: Judged) -> Found:
    return _there(judged) if judged.cell.task == "one" else None


def _two(judged: Judged) -> Found:
    return _there(judged) if judged.cell.task == "several" else None


def _dictated(judged: Judged) -> Found:
    """The arguments of the dictated calls, where the calls are there."""
    match = judged.match
    if not judged.wanted or not _whole(judged) or len(judged.reply.calls) != len(judged.wanted):
        return None
    if match.kind == "damaged":
        return wrong(match.why, certain=False)
    return wrong(match.why if match.kind != "exact" else "", weighed=True)


def _offered(judged: Judged) -> Found:
    calls = judged.reply.calls
    if not calls or judged.reply.problem:
        return None
    odd = next((call for call in calls if judged.parameters(call.name) is None), None)
    if odd is None:
        return ()
    promised = judged.cell.forced or judged.cell.strict or _changed(judged, odd)
    return wrong(f"{odd.name!r:.80} is called and was not offered", certain=False, weighed=not promised)


def _changed(judged: Judged, call: Call) -> bool:
    """Whether a name is an offered one with other signs, or half of it."""
    name = call.name
    return not isinstance(name, str) or any(name and same_but_signs(tool.name, name) for tool in judged.request.tools)


def _text(judged: Judged) -> Found:
    calls = judged.reply.calls
    if not calls:
        return None
    odd = next((call for call in calls if not isinstance(call.arguments, str)), None)
    return wrong(f"the arguments are no text but {type(odd.arguments).__name__}" if odd else "")


def _parse(judged: Judged) -> Found:
    calls = judged.reply.calls
    if not calls or not _whole(judged):
        return None
    odd = next((call for call in calls if isinstance(call.arguments, str) and call.values is None), None)
    return wrong(f"the arguments are no JSON object: {odd.arguments!a:.200}" if odd else "", certain=False)


def _problems(judged: Judged) -> list[str] | None:
    """What the schemas that were sent have against the arguments; ``None`` when there is nothing to validate."""
    pairs = [(call.values, judged.parameters(call.name)) for call in judged.reply.calls]
    valued = [(values, schema) for values, schema in pairs if values is not None and schema is not None]
    if not valued or not _whole(judged):
        return None
    found = (argument_problem(schema, values) for values, schema in valued)
    return [each[1] for each in found if each]


def _strict(judged: Judged) -> Found:
    problems = _problems(judged) if judged.cell.strict else None
    if problems is None:
        return None
    return wrong(f"strict was accepted, and the schema is not kept: {problems[0]}" if problems else "")


def _schema(judged: Judged) -> Found:
    problems = None if judged.cell.strict else _problems(judged)
    return None if problems is None else wrong(problems[0] if problems else "", weighed=True)


def _required(judged: Judged) -> Found:
    if judged.cell.choice != "required" or not _whole(judged):
        return None
    lost = lost_call(judged.reply) or "text instead"
    return wrong("" if judged.reply.calls else f"tool_choice required, and no call; {lost}")


def _named(judged: Judged) -> Found:
    if judged.cell.choice != "named" or not _whole(judged):
        return None
    name, calls = str(judged.request.choice)[1:], judged.reply.calls
    if not calls:
        return wrong(f"tool_choice names {name}, and no call; {lost_call(judged.reply) or 'text instead'}")
    odd = next((call.name for call in calls if call.name != name), None)
    if odd is not None or any(call.name is None for call in calls):
        return wrong(f"tool_choice names {name}, and {odd!r:.80} is called")
    return wrong(f"tool_choice names {name}, and it is called {len(calls)} times" if len(calls) > 1 else "")


def _none(judged: Judged) -> Found:
    if judged.cell.choice != "none" or judged.reply.problem:
        return None
    return wrong("tool_choice none, and yet a call" if judged.reply.calls else "")


def _own_ids(judged: Judged) -> Found:
    ids = [repr(call.id) for call in judged.reply.calls]
    if len(ids) < 2:
        return None
    return wrong(f"two calls of one answer have the same id {ids[0]:.80}" if len(set(ids)) < len(ids) else "")


JUDGES: RowJudges = {
    "call_recognised": _recognised,
    "arguments_text": _text,
    "arguments_parse": _parse,
    "calls_unstreamed": _two,
    "arguments_dictated": _dictated,
    "stream_calls": _there,
    "stream_arguments": lambda judged: _parse(judged) or _dictated(judged),
    "names_offered": _offered,
    "arguments_schema": _schema,
    "strict": _strict,
    "choice_required": _required,
    "choice_required_stream": _required,
    "choice_function": _named,
    "choice_function_stream": _named,
    "choice_none": _none,
    "ids_in_answer": _own_ids,
}
