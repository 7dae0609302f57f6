"""Ground truths of multi-turn entries carried out: calls that fail, calls too early, literals that stand nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers.entries import is_error
from pytest_bfcl.checkers.state import executor_of
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.lab.auditing.literals import Pool, literals, texts_in
from pytest_bfcl.extensions.lab.auditing.rules import Defect
from pytest_bfcl.extensions.lab.auditing.schema_rules import misfits
from pytest_bfcl.failures import BenchmarkError, UsageError
from pytest_bfcl.simulators import CallRefused, split_call
from pytest_bfcl.simulators.execution import ParsedCall

if TYPE_CHECKING:
    from pytest_bfcl.simulators import CallExecutor

SHOWN = 400
"""Characters of a result in a proof."""


def trajectory_defects(entry: Entry) -> Iterator[Defect]:
    """Defects of a multi-turn entry's ground truth, turn by turn."""
    truth = entry.possible_answer
    if entry.row.checker != "state" or not isinstance(truth, list):
        return
    yield from _held_out(entry, truth)
    try:
        executor = executor_of(entry)
    except (BenchmarkError, UsageError) as error:
        yield Defect("config_unusable", entry.id, str(error), "initial_config")
        return
    pool = Pool()
    for document in entry.all_functions:
        for text in texts_in(document):
            pool.add(text)
    for text in _readable_texts(entry):
        pool.add(text)
    for number, calls in enumerate(truth):
        for message in entry.question[number] if number < len(entry.question) else ():
            pool.add(str(message.get("content") or ""))
        for position, text in enumerate(calls if isinstance(calls, list) else ()):
            yield from _called(entry, executor, pool, str(text), f"possible_answer[{number}][{position}]")


def _called(entry: Entry, executor: CallExecutor, pool: Pool, text: str, place: str) -> Iterator[Defect]:
    call = _parsed(text)
    if call is not None:
        yield from _unread(entry, pool, call, text, place)
        yield from _misfitting(entry, call, text, place)
    result = executor.execute(text)
    pool.add(_plain(result))
    if call is not None and is_error(result):
        known = {str(document.get("name")) for document in entry.all_functions}
        name = call.name if call.name in known else call.name.rpartition(".")[2]
        if name in known:  # else told as unknown_function
            rule = "call_unbound" if _unbound(result) else "call_error"
            yield Defect(rule, entry.id, f"{text[:120]} gives an error", place, (text, f"→ {result[:SHOWN]}"))


def _misfitting(entry: Entry, call: ParsedCall, text: str, place: str) -> Iterator[Defect]:
    """Arguments that the function's schema forbids; a simulator may take them, a model must not give them."""
    parameters = next((doc.get("parameters") for doc in entry.all_functions if doc.get("name") == call.name), None)
    found = parameters.get("properties") if isinstance(parameters, dict) else None
    properties = found if isinstance(found, dict) else {}
    for name, value in [*zip(properties, call.args, strict=False), *call.kwargs.items()]:
        if isinstance(properties.get(name), dict) and not isinstance(value, dict):
            for _, message in misfits(properties[name], value, 0):
                yield Defect("call_misfit", entry.id, f"{name}: {message}", place, (text,))


def _readable_texts(entry: Entry) -> Iterator[str]:
    """What a model could find out before it acts: the initial state, and results of reading tools without arguments."""
    yield from texts_in(entry.initial_config)
    executor = executor_of(entry)
    for simulator in executor.simulators.values():
        yield from texts_in(_jsonable(simulator.public_state()))
    for document in entry.all_functions:
        parameters, name = document.get("parameters"), str(document.get("name"))
        required = parameters.get("required") if isinstance(parameters, dict) else None
        if not required and not executor.writes(f"{name}()"):
            yield _plain(executor.execute(f"{name}()"))


def _jsonable(state: Any) -> Any:
    return json.loads(json.dumps(state, default=str))


def _parsed(text: str) -> ParsedCall | None:
    try:
        return split_call(text)
    except (CallRefused, ValueError):
        return None


def _unbound(result: str) -> bool:
    told = result.lower()
    return "argument" in told and any(word in told for word in ("unexpected", "missing", "takes", "multiple values"))


def _plain(result: str) -> str:
    """A result as text; JSON with its escapes read, so that texts in it stand as they are."""
    try:
        return "\n".join(texts_in(json.loads(result)))
    except (ValueError, RecursionError):
        return result


def _unread(entry: Entry, pool: Pool, call: ParsedCall, text: str, place: str) -> Iterator[Defect]:
    """Literals of a call that nothing shown so far has."""
    for value in literals([*call.args, *call.kwargs.values()]):
        if isinstance(value, str):
            reach = pool.reach(value)
            if reach == "known":
                continue
            rule = "unreachable" if reach == "unknown" else reach
            nowhere = ", ".join(repr(word) for word in pool.missing(value)[:8])
            message = f"{value[:100]!r}: {nowhere} stands nowhere so far" if nowhere else f"{value[:100]!r}"
            yield Defect(rule, entry.id, message, place, (text,))
        elif not pool.has_number(float(value)):
            yield Defect("unreachable", entry.id, f"the number {value} stands nowhere so far", place, (text,))


def _held_out(entry: Entry, truth: list[Any]) -> Iterator[Defect]:
    """Held-out functions expected before they arrive, or never."""
    for arrival, documents in entry.missed_function.items():
        for name in (str(document.get("name")) for document in documents):
            used = [
                (number, position)
                for number, calls in enumerate(truth)
                for position, text in enumerate(calls if isinstance(calls, list) else ())
                if (call := _parsed(str(text))) is not None and call.name.rpartition(".")[2] == name
            ]
            early = [(number, position) for number, position in used if number < arrival]
            if early:
                number, position = early[0]
                message = f"{name} arrives at turn {arrival} and is expected in turn {number}"
                place = f"possible_answer[{number}][{position}]"
                yield Defect("too_early", entry.id, message, place, (str(truth[number][position]),))
            elif not used and arrival < len(truth):
                message = f"{name} is held out until turn {arrival} and never expected"
                yield Defect("held_out_unused", entry.id, message, f"missed_function.{arrival}")
