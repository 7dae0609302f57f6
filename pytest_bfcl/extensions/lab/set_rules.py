"""Compares entries of a set: variants that diverge, duplicates that disagree, answers without a source."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers.entries import is_error
from pytest_bfcl.checkers.state import executor_of
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.lab.literals import Pool, literals, texts_in
from pytest_bfcl.extensions.lab.request_rules import messages_text
from pytest_bfcl.extensions.lab.rules import Defect
from pytest_bfcl.extensions.lab.schema_rules import misfits
from pytest_bfcl.failures import BenchmarkError, UsageError
from pytest_bfcl.simulators import CallRefused, split_call
from pytest_bfcl.simulators.execution import ParsedCall
from pytest_bfcl.spread_json import NOT_JSON, json_or

if TYPE_CHECKING:
    from pytest_bfcl.simulators import CallExecutor


VARIANTS = ("multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
BASE = "multi_turn_base"
ALIKE = 0.5
"""Share of equal requests from which an entry counts as a variant of a base entry."""
MOST_PAGE_CHARS = 5_000_000


def sibling_defects(entries: Mapping[str, Entry]) -> Iterator[Defect]:
    """Variants of one multi-turn entry whose calls or states differ from the base entry's."""
    for entry_id, base in entries.items():
        if base.category != BASE:
            continue
        index = entry_id.rpartition("_")[2]
        for category in VARIANTS:
            variant = entries.get(f"{category}_{index}")
            if variant is not None and _is_variant(base, variant):
                yield from _diverging(base, variant)


def _is_variant(base: Entry, variant: Entry) -> bool:
    requests, others = _requests(base), _requests(variant)
    return bool(requests) and len(requests & others) >= ALIKE * len(requests)


def _requests(entry: Entry) -> set[str]:
    return {str(message.get("content")) for turn in entry.question for message in turn if message.get("content")}


def _diverging(base: Entry, variant: Entry) -> Iterator[Defect]:
    mine, theirs = _calls(base), _calls(variant)
    if mine != theirs:
        ours, yours = _only(mine, theirs), _only(theirs, mine)
        proof = (f"{base.id}: {ours}", f"{variant.id}: {yours}")
        message = f"{variant.id} expects other calls"
        yield Defect("siblings_calls", base.id, message, "possible_answer", proof, (variant.id,))
    if _canonical(base.initial_config) != _canonical(variant.initial_config):
        message = f"{variant.id} starts from another state"
        yield Defect("siblings_state", base.id, message, "initial_config", (), (variant.id,))


def _calls(entry: Entry) -> list[str]:
    return [str(call) for turn in entry.possible_answer or () if isinstance(turn, list) for call in turn]


def _only(mine: Sequence[str], theirs: Sequence[str]) -> str:
    found = [call for call in mine if call not in theirs]
    return "; ".join(found)[:300] or "the same calls in another order or number"


def duplicate_defects(entries: Mapping[str, Entry]) -> Iterator[Defect]:
    """Entries with equal requests and functions."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries.values():
        if entry.config is None and entry.row.checker in ("ast", "relevance", "irrelevance") and entry.function:
            asked = [[message.get("role"), message.get("content")] for turn in entry.question for message in turn]
            functions = sorted(_canonical(document) for document in entry.function)
            groups[_canonical([asked, functions, entry.language])].append(entry)
    for same in groups.values():
        first, *others = same
        for other in others:
            yield _pair(first, other)


def _pair(first: Entry, other: Entry) -> Defect:
    ids = (other.id,)
    if (first.row.checker == "irrelevance") != (other.row.checker == "irrelevance"):
        wants, none = (other, first) if first.row.checker == "irrelevance" else (first, other)
        message = f"{wants.id} wants a call, {none.id} none"
        return Defect("call_or_none", first.id, message, "question", (messages_text(first)[:400],), ids)
    if _canonical(first.possible_answer) != _canonical(other.possible_answer):
        proof = (f"{first.id}: {_canonical(first.possible_answer)[:300]}",
                 f"{other.id}: {_canonical(other.possible_answer)[:300]}")  # fmt: skip
        return Defect("duplicate_differs", first.id, f"{other.id} has another answer", "possible_answer", proof, ids)
    return Defect("duplicate", first.id, f"{other.id} is the same", "question", (), ids)


def agentic_defects(dataset: DataSet, entries: Iterable[Entry]) -> Iterator[Defect]:
    """Answers that occur neither in the conversation before the question nor in the data's own web pages."""
    heard: dict[tuple[str, str], str] = {}
    web = _web(dataset)
    for entry in entries:
        if entry.row.checker != "answer" or not entry.possible_answer:
            continue
        where = ""
        if entry.row.backend:
            key = (entry.category, entry.scenario or "")
            if key not in heard:
                heard[key] = _scenario_text(dataset, *key)
            where = heard[key]
        elif entry.row.group == "web_search":
            where = web
        if where and not any(_stands(str(text), where) for text in entry.possible_answer):
            message = f"{entry.possible_answer[0]!r} stands nowhere it could be found"
            yield Defect("answer_nowhere", entry.id, message, "possible_answer")


def _scenario_text(dataset: DataSet, category: str, scenario: str) -> str:
    found = [dataset.load(ref) for ref in dataset.prerequisites(category, scenario)]
    return _normal(" ".join(messages_text(entry) for entry in found))


def _web(dataset: DataSet) -> str:
    pages: list[str] = []
    for path in sorted(dataset.site.glob("*.html")) if dataset.site else ():
        pages.append(path.read_text(encoding="utf-8", errors="replace")[:MOST_PAGE_CHARS])
    return _normal(html.unescape(re.sub(r"<[^>]{0,4000}>", " ", " ".join(pages)))) if pages else ""


def _normal(text: str) -> str:
    return " " + re.sub(r"[\W_]+", " ", text.lower()) + " "


_NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def _stands(answer: str, where: str) -> bool:
    """Whether all words of an answer occur, because answers are often shortened."""
    wanted = _normal(answer).split()
    if len(wanted) == 1 and wanted[0] in where.replace(" ", ""):
        return True
    return all(f" {word}" in where or _spelled(word) in where for word in wanted)


def _spelled(word: str) -> str:
    number = int(word) if word.isdecimal() and len(word) < 3 else -1
    return f" {_NAMES[number]} " if 0 <= number < len(_NAMES) else "\0"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


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
    """Arguments that the function's schema forbids; a simulator may accept them, a model must not use them."""
    parameters = next((doc.get("parameters") for doc in entry.all_functions if doc.get("name") == call.name), None)
    found = parameters.get("properties") if isinstance(parameters, dict) else None
    properties = found if isinstance(found, dict) else {}
    for name, value in [*zip(properties, call.args, strict=False), *call.kwargs.items()]:
        if isinstance(properties.get(name), dict) and not isinstance(value, dict):
            for _, message in misfits(properties[name], value, 0):
                yield Defect("call_misfit", entry.id, f"{name}: {message}", place, (text,))


def _readable_texts(entry: Entry) -> Iterator[str]:
    """Everything a model could find out first: the initial state, and results of reading tools without arguments."""
    yield from texts_in(entry.initial_config)
    executor = executor_of(entry)
    for simulator in executor.simulators.values():
        yield from texts_in(json.loads(json.dumps(simulator.public_state(), default=str)))
    for document in entry.all_functions:
        parameters, name = document.get("parameters"), str(document.get("name"))
        required = parameters.get("required") if isinstance(parameters, dict) else None
        if not required and not executor.writes(f"{name}()"):
            yield _plain(executor.execute(f"{name}()"))


def _parsed(text: str) -> ParsedCall | None:
    try:
        return split_call(text)
    except (CallRefused, ValueError):
        return None


def _unbound(result: str) -> bool:
    told = result.lower()
    return "argument" in told and any(word in told for word in ("unexpected", "missing", "takes", "multiple values"))


def _plain(result: str) -> str:
    """A result as text, with JSON's escapes replaced."""
    found = json_or(result, NOT_JSON)
    return result if found is NOT_JSON else "\n".join(texts_in(found))


def _unread(entry: Entry, pool: Pool, call: ParsedCall, text: str, place: str) -> Iterator[Defect]:
    """Literals of a call without a source so far."""
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
    """Held-out functions that are expected before they are offered, or are never offered."""
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
