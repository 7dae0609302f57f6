"""The proof of a task: its calls pass, fewer calls fail, every value can be read, no other way gives the same.

It uses only the entry, so an entry of any origin can be proved.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers import judge, judge_both
from pytest_bfcl.checkers.entries import is_error
from pytest_bfcl.checkers.state import executor_of
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.training.generating.policies import played, solved, spoken
from pytest_bfcl.extensions.training.generating.reach import Heard, parts
from pytest_bfcl.extensions.training.generating.rivals import Turn, carried_out, state_of
from pytest_bfcl.extensions.training.training_rows import Row, sayings_of, turns_of
from pytest_bfcl.extras import require
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.simulators import CallRefused, split_call
from pytest_bfcl.transcript import Call

if TYPE_CHECKING:
    from pytest_bfcl.extensions.training.contamination import Benchmark


class Unproved(Exception):
    """Why an entry is refused: a short ``reason`` and the evidence."""

    def __init__(self, reason: str, told: str = "") -> None:
        super().__init__(f"{reason}: {told}" if told else reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Facts:
    """The findings of the proof. ``turns``: turns with words of the user; ``dependencies``: arguments that only an
    earlier result has; ``depth``: calls of the longest chain of these.
    """

    turns: int
    calls: int
    dependencies: int
    depth: int
    tools: int


def proved(entry: Entry) -> Facts:
    """The facts of a proved multi-turn entry. Raises `Unproved` with the problem."""
    truth = entry.possible_answer or []
    if not any(truth):
        raise Unproved("nothing to do", "no turn expects a call")
    facts = _reachable(entry, truth)
    _passes(entry, truth)
    _nothing_less(entry, truth)
    _conditions(entry, truth)
    _unique(entry, truth)
    if not solved(entry):
        raise Unproved("honest policy fails", "what is asked for cannot be read from what is shown")
    return facts


def _passes(entry: Entry, truth: Sequence[Sequence[str]]) -> None:
    verdict = judge_both(entry, played(entry, truth))
    for name, found in (("official", verdict.official), ("corrected", verdict.corrected)):
        if not found.valid:
            raise Unproved("oracle fails", f"under {name} rules: {found.reason}")


def _nothing_less(entry: Entry, truth: Sequence[Sequence[str]]) -> None:
    """No calls, or one call fewer, must not pass."""
    shorter: list[tuple[str, list[Sequence[str]]]] = [("doing nothing", [[] for _ in truth])]
    for turn, calls in enumerate(truth):
        for place, call in enumerate(calls):
            less = [*calls[:place], *calls[place + 1 :]]
            shorter.append((f"without {call}", [*truth[:turn], less, *truth[turn + 1 :]]))
    for told, turns in shorter:
        if judge(entry, spoken(entry, turns)).valid:
            raise Unproved("passes with less", told)


def _reachable(entry: Entry, truth: Sequence[Sequence[str]]) -> Facts:
    """Every value of every call was named, returned or documented before its use."""
    executor, heard = executor_of(entry), Heard()
    documents = {str(document["name"]): document for document in entry.all_functions}
    arrival = {str(doc["name"]): turn for turn, docs in entry.missed_function.items() for doc in docs}
    depths: list[int] = []
    dependencies = 0
    attempts = {str(call) for each in _told(entry) if each["kind"] == "if_fails" for call in each["first"]}
    for turn, calls in enumerate(truth):
        for message in entry.question[turn] if turn < len(entry.question) else ():
            heard.say(str(message.get("content") or ""))
        for text in calls:
            call = _parsed(text)
            if arrival.get(call.name, 0) > turn or call.name not in documents:
                raise Unproved("tool not there", f"{call.name} in turn {turn}")
            properties = (documents[call.name]["parameters"] or {}).get("properties") or {}
            below = 0
            for name, value in call.arguments.items():
                found = heard.source(value, properties.get(name) or {})
                if found is None:
                    raise Unproved("unreachable value", f"{name}={value!r} in {text}"[:300])
                if found[0] == "result":
                    dependencies += 1
                    below = max(below, depths[found[1]])
            result = executor.execute(text)
            if is_error(result) and text not in attempts:
                raise Unproved("call fails", f"{text} → {result}"[:300])
            heard.result(len(depths), result)
            depths.append(below + 1)
        if not calls and entry.category == "multi_turn_miss_param" and turn + 1 < len(truth):
            due = map(_parsed, truth[turn + 1])
            if not any(_lacks(call, documents[call.name]["parameters"], heard) for call in due):
                raise Unproved("nothing is missing", f"turn {turn} could be done at once")
    turns = sum(bool(messages) for messages in entry.question)
    return Facts(turns, len(depths), dependencies, max(depths), len(entry.all_functions))


def _lacks(call: Call, parameters: Fields, heard: Heard) -> bool:
    """Whether a required value of a call is still unknown."""
    return any(
        name in call.arguments and heard.source(call.arguments[name], parameters["properties"][name]) is None
        for name in parameters.get("required") or ()
    )


def _told(entry: Entry) -> list[Any]:
    return list(((entry.model_extra or {}).get("generated") or {}).get("conditions") or ())


def _conditions(entry: Entry, truth: Sequence[Sequence[str]]) -> None:
    """Conditions have the calls of their worlds and occur in both outcomes; an attempt fails where it should."""
    told = _told(entry)
    if told and len({bool(each["holds"]) for each in told}) < 2:
        raise Unproved("one world only", "every condition comes out the same")
    for each in told:
        turn, attempt = int(each["turn"]), str(each["first"][0])
        if list(truth[turn]) != [*each["first"], *(each["act"] if each["holds"] else each["other"])]:
            raise Unproved("wrong branch", f"turn {turn}")
        if each["kind"] != "if_fails":
            continue
        executor = executor_of(entry)
        for calls in truth[:turn]:
            executor.execute_all(calls)
        before = copy.deepcopy(state_of(executor.simulators))
        if is_error(executor.execute(attempt)) is not each["holds"]:
            raise Unproved("wrong branch", f"{attempt} {'works' if each['holds'] else 'fails'}")
        if each["holds"] and state_of(executor.simulators) != before:
            raise Unproved("attempt harms", attempt)


def _unique(entry: Entry, truth: Sequence[Sequence[str]]) -> None:
    """No other sequence from the known values gives the same result and is judged differently."""
    simulators = executor_of(entry).simulators
    values: list[Any] = []
    for number, texts in enumerate(truth):
        calls = [_parsed(text) for text in texts]
        arrived = [
            document for at, documents in entry.missed_function.items() if at <= number for document in documents
        ]
        values = _at_hand(calls, values)
        if calls:
            found = Turn(simulators, [*entry.function, *arrived], values, calls).rival()
            if found is not None:
                raise Unproved("ambiguous", f"{'; '.join(texts)} or {found}"[:400])
        elif held := entry.missed_function.get(number + 1):
            due = [_parsed(text) for text in truth[number + 1]]
            if not {call.name for call in due} & {str(document["name"]) for document in held}:
                raise Unproved("tool not there", "the held-out function is not called when it arrives")
            found = Turn(simulators, entry.function, _at_hand(due, values), due).substitute()
            if found is not None:
                raise Unproved("ambiguous", f"{found} does without the function that is held out")
        for call in calls:
            carried_out(simulators, call)


def _at_hand(calls: Sequence[Call], before: Sequence[Any]) -> list[Any]:
    """Values of these calls and of earlier ones, newest first."""
    fresh = [each for call in calls for value in call.arguments.values() for each in parts(value)]
    return list({repr(each): each for each in [*fresh, *before]}.values())


def _parsed(text: str) -> Call:
    try:
        call = split_call(text)
    except CallRefused as error:
        raise Unproved("no call", f"{text[:200]}: {error}") from None
    if call is None or call.args:
        raise Unproved("no call", f"{text[:200]} is not one call with named literals")
    return Call(call.name, call.kwargs)


@cache
def _benchmark() -> Benchmark:
    from pytest_bfcl.extensions.training.contamination import Benchmark
    from pytest_bfcl.session.evaluation import open_data

    return Benchmark(open_data("official"))


def why_unchecked() -> str | None:
    """Why tasks cannot be compared with the official set here; else ``None``."""
    from pytest_bfcl.session.evaluation import open_data

    try:
        require("contamination", "looking for near-duplicates")
        open_data("official")
    except UsageError as error:
        return str(error).splitlines()[0]
    return None


def near_official(entry: Entry) -> str | None:
    """The official entry with the same question or calls, and the similarity."""
    from pytest_bfcl.extensions.training.contamination import GRAVE, expected_calls

    row = Row(entry.id, [*sayings_of(entry), "\n".join(turns_of(entry))], calls=expected_calls(entry))
    for found in _benchmark().findings_in(row):
        if found.kind in GRAVE:
            return f"{found.entry_id}: {found.kind} {found.how} {found.similarity:.2f}"
    return None
