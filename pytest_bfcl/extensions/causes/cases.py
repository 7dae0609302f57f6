"""A judged line with its entry: actual and expected calls, call by call, and a new judgement after changes."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pytest_bfcl.checkers.judge import judge
from pytest_bfcl.conversation.history import fill_calls
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.expansion import typed_as_sent
from pytest_bfcl.decoding.ground_truth import turn_ground_truth_calls
from pytest_bfcl.failures import BenchmarkError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.plain_text import parse_expression
from pytest_bfcl.runs.replay_lines import entry_from_line, transcript_from_line
from pytest_bfcl.scoring.statistics import cluster_of
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.python_syntax import exact_text
from pytest_bfcl.tools.schemas import compile_tools, wire_names
from pytest_bfcl.transcript import Call, Reply, Step, ToolCall, Transcript, wire_name

COMPARED = ("ast", "irrelevance", "relevance", "state")
"""Checkers whose entries name the expected calls."""
MOST_CALLS = 200
"""Calls of one turn that are examined."""


@dataclass
class Made:
    """An actual call; ``given`` are its arguments, ``None`` if ``raw`` is no JSON object."""

    name: str
    given: dict[str, Any] | None
    raw: str = ""
    gone: bool = False


@dataclass
class Due:
    """An expected call, by its sent name.

    ``accepted``: parameter → right values; ``optional``: parameters that may be omitted. ``said`` is one right call in
    the notation of the entry's language.
    """

    name: str
    accepted: dict[str, list[Any]]
    optional: frozenset[str]
    said: dict[str, Any]


@dataclass
class Turn:
    """Steps of one turn, each with its calls, and the expected calls."""

    steps: list[list[Made]]
    due: list[Due]


@dataclass
class Case:
    """One judged line; ``passed`` is the verdict on the line."""

    line: Fields
    entry: Entry
    transcript: Transcript
    passed: bool
    order: int = 0
    """Its position among the run's lines."""
    times: int = 1
    """Lines that this one stands for."""

    @cached_property
    def cluster(self) -> str:
        """What entries with the same question share: those are one observation, not several."""
        return cluster_of(self.entry.id, self.entry.category)

    @cached_property
    def wires(self) -> dict[str, Fields]:
        """Sent name → document of every function that the entry offers."""
        spelled = wire_name if self.transcript.underscore_names else str
        return {spelled(str(each.get("name"))): each for each in self.entry.all_functions}

    @cached_property
    def sent(self) -> dict[str, Fields]:
        """Name on the wire → the function as requests hold it, in JSON Schema."""
        functions = typed_as_sent(self.entry.all_functions, self.entry.language)
        return {wire: tool["function"] for wire, tool in zip(self.wires, compile_tools(functions), strict=False)}

    @cached_property
    def turns(self) -> list[Turn]:
        """Actual and expected calls, turn by turn."""
        fill_calls(self.entry, self.transcript)
        count = len(self.entry.question) if self.entry.row.checker == "state" else 1
        said = self.transcript.turns
        return [
            Turn([_made(self.transcript, step) for step in (said[n].steps if n < len(said) else ())], self.due(n))
            for n in range(max(count, 1))
        ]

    @cached_property
    def asked(self) -> str:
        """All text of the entry's messages."""
        return " ".join(str(each.get("content")) for turn in self.entry.question for each in turn)

    @cached_property
    def right_texts(self) -> list[str]:
        """The right answer to the prompt of every turn; empty texts for native calls."""
        if self.transcript.mode != "prompt":
            return [""] * len(self.turns)
        return [answer(self.entry, "prompt", number).text or "" for number in range(len(self.turns))]

    def before(self, turn: int, nth: int) -> list[Due]:
        """The expected calls before one, in all turns."""
        return [*(due for each in self.turns[:turn] for due in each.due), *self.turns[turn].due[:nth]]

    def due(self, turn: int) -> list[Due]:
        """The expected calls of a turn."""
        entry, checker = self.entry, self.entry.row.checker
        if checker == "state":
            truth = turn_ground_truth_calls(entry, turn)
            return [
                Due(self.on_wire(call.name), {k: [v] for k, v in call.arguments.items()}, frozenset(), call.arguments)
                for call in truth
            ]
        if checker not in ("ast", "relevance"):
            return []
        right = _calls_of(answer(entry, "fc"))
        names = wire_names(entry.all_functions)
        accepted = [each for each in entry.possible_answer or () if isinstance(each, Mapping) and each]
        found = []
        for number, call in enumerate(right):
            given = call.given or {}
            told = next(iter(accepted[number].values())) if number < len(accepted) else {}
            values = (
                {str(k): v if isinstance(v, list) else [v] for k, v in told.items()} if isinstance(told, dict) else {}
            )
            typed = entry.language == "python"
            found.append(
                Due(
                    self.on_wire(
                        next(iter(accepted[number])) if number < len(accepted) else names.get(call.name, call.name)
                    ),
                    {key: [given[key], *(_resolved(each) for each in values.get(key, ()) if typed)] for key in given}
                    | {k: [_resolved(each) for each in v if each != ""] for k, v in values.items() if k not in given},
                    frozenset(key for key, each in values.items() if "" in each),
                    given,
                )
            )
        return found

    def on_wire(self, name: str) -> str:
        """A documented name in its sent form."""
        return wire_name(name) if self.transcript.underscore_names else name

    def documented(self, name: str) -> str:
        """The name in the documents of a sent one; an unknown one as it is."""
        return str(self.wires.get(name, {}).get("name") or name)

    def schema(self, name: str) -> Fields:
        """The parameters of a function; empty for an unknown one."""
        found = self.wires.get(name, {}).get("parameters")
        return found if isinstance(found, Mapping) else {}

    def properties(self, name: str) -> Fields:
        """Parameter → schema of a function; empty for an unknown one."""
        found = self.schema(name).get("properties")
        return found if isinstance(found, Mapping) else {}

    def draft(self) -> list[Turn]:
        """A copy of the turns for changes."""
        return [
            Turn([[replace(call, given=copy.deepcopy(call.given)) for call in step] for step in t.steps], t.due)
            for t in self.turns
        ]

    def passes(self, draft: list[Turn]) -> bool:
        """Whether the changed calls are right under the line's rules.

        A conversation of the expected calls is right, as those would be compared with themselves.
        """
        if self.entry.row.checker == "state" and all(map(_is_due, draft)):
            return True
        told = self.transcript
        native = told.mode == "fc" and told.decoder is None and not told.decoded
        turns = []
        for number, turn in enumerate(draft):
            before = told.turns[number] if number < len(told.turns) else None
            steps = [self._step([call for call in step if not call.gone], native) for step in turn.steps]
            turns.append(replace(before, steps=steps) if before is not None else _turn(steps))
        changed = replace(
            told, turns=turns, decoded=told.decoded or not native, forced_quit=False, inference_error=None,
            incomplete=False, other_reading=None,
        )  # fmt: skip
        rules = "corrected" if self.line.get("rules") == "corrected" else "official"
        try:
            return judge(self.entry, changed, rules).valid
        except BenchmarkError:
            return False

    def _step(self, calls: list[Made], native: bool) -> Step:
        if native:
            said = tuple(
                ToolCall(c.name, c.raw if c.given is None else json.dumps(c.given, ensure_ascii=False)) for c in calls
            )
            return Step(Reply("" if not said else None, said, finish_reason="stop"))
        made = [Call(call.name, call.given or {}) for call in calls]
        if self.entry.row.multi_step:
            return Step(Reply(text=""), calls=[exact_text(each) for each in made])
        return Step(Reply(text="" if not made else f"[{', '.join(map(exact_text, made))}]"), calls=made)


def _is_due(turn: Turn) -> bool:
    made = [(call.name, call.given) for step in turn.steps for call in step if not call.gone]
    return made == [(each.name, each.said) for each in turn.due]


def _turn(steps: list[Step]) -> Any:
    from pytest_bfcl.transcript import Turn as Said

    return Said(steps=steps)


def _made(transcript: Transcript, step: Step) -> list[Made]:
    """The calls of a step: native ones unchanged, others as read."""
    if step.reply.tool_calls and not transcript.decoded:
        return _calls_of(step.reply)
    found = []
    for call in (step.calls or [])[:MOST_CALLS]:
        if isinstance(call, str):
            read = _read(call)
            if read is not None:
                found.append(Made(read.name, dict(read.arguments)))
        elif None not in call.arguments:  # ``**`` and an object are no names
            found.append(Made(str(call.name), {str(k): v for k, v in call.arguments.items()}))
    return found


def _calls_of(reply: Reply) -> list[Made]:
    return [Made(call.name, _object(call.arguments), call.arguments) for call in reply.tool_calls[:MOST_CALLS]]


def _object(raw: str) -> dict[str, Any] | None:
    try:
        found = parse_json(raw)
    except DecodeError:
        return None
    return found if isinstance(found, dict) else None


def _read(text: str) -> Call | None:
    """A call text as name and keyword arguments."""
    import ast

    try:
        node = parse_expression(text.strip())
        if not isinstance(node, ast.Call) or any(each.arg is None for each in node.keywords):
            return None
        given = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
        given |= {str(number): ast.literal_eval(each) for number, each in enumerate(node.args)}
        return Call(ast.unparse(node.func), given)
    except (AttributeError, SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None


def _resolved(value: Any) -> Any:
    """An accepted value with the first alternative of every key."""
    if isinstance(value, Mapping):
        return {
            k: a[0] if isinstance(a, list) and a else a
            for k, a in value.items()
            if not (isinstance(a, list) and "" in a)
        }
    return (
        [_resolved(each) if isinstance(each, Mapping) else each for each in value] if isinstance(value, list) else value
    )


MOST_FAILED, MOST_RIGHT, FOR_A_FAILED = 6_000, range(240, 1_001), 6
"""Failed lines that are read, from the start of a run; right ones, least and most, and as many for each failed one."""


def _chosen(lines: Sequence[Fields]) -> Iterator[tuple[int, Fields, int]]:
    """Failed lines, and right ones with the number of lines that each stands for: they only tell what is usual.

    They are evenly chosen from each category, as small ones would be represented by chance.
    """
    right = Counter(str(line.get("category")) for line in lines if line.get("outcome") == "passed")
    wanted = FOR_A_FAILED * (len(lines) - right.total())
    of_each = min(max(wanted, MOST_RIGHT[0]), MOST_RIGHT[-1]) // max(1, len(right))
    seen = Counter[str]()
    failed = 0
    for order, line in enumerate(lines):
        if line.get("outcome") != "passed":
            failed += 1
            if failed <= MOST_FAILED:
                yield order, line, 1
            continue
        category = str(line.get("category"))
        each_for = -(-right[category] // max(1, of_each))
        if seen[category] % each_for == 0:
            yield order, line, min(each_for, right[category] - seen[category])
        seen[category] += 1


def cases_of(lines: Sequence[Fields], find: Any) -> Iterator[Case]:
    """The judged lines of one model, of those with entries. ``find``: id → entry, or ``None``."""
    for order, line, times in _chosen(lines):
        entry = _entry(line, find)
        try:
            transcript = transcript_from_line(line)
        except BenchmarkError:
            continue
        if entry is not None:
            yield Case(line, entry, transcript, line.get("outcome") == "passed", order, times)


def _entry(line: Fields, find: Any) -> Entry | None:
    try:
        return entry_from_line(line) or find(str(line.get("id")))
    except (BenchmarkError, KeyError):
        return None
