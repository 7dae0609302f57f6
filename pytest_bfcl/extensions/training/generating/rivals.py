"""Other ways to a turn's result: short call sequences with known values, tried on copies of the simulators."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from random import Random
from typing import Any

from pytest_bfcl.checkers.entries import is_error, missing_results
from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.extensions.training.generating.reach import choices, parts, value_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.simulators import Simulator
from pytest_bfcl.simulators.toolkit import error_text
from pytest_bfcl.syntax.python_syntax import exact_text
from pytest_bfcl.transcript import Call

MOST_SPELLINGS = 8
"""Argument lists that are tried for one tool."""
MOST_WAYS = 60
"""Calls that are tried in one place of a turn."""
PAIRED = 2
"""For turns with this number of writing calls, pairs of calls are also replaced together."""

_WORDS: Mapping[str, Any] = {
    "string": str, "integer": int, "float": (int, float), "boolean": bool, "array": list, "dict": dict,
}  # fmt: skip


class World:
    """Simulators at one moment; uses are made on copies of those that the calls reach."""

    def __init__(self, simulators: Mapping[str, Simulator]) -> None:
        self._simulators = simulators
        self._kept: dict[str, tuple[bytes, dict[str, Any]]] = {}

    def after(self, calls: Sequence[Call]) -> tuple[dict[str, Simulator], list[str]]:
        """The simulators after the calls, and the results."""
        reached = {name for name, simulator in self._simulators.items() if any(simulator.offers(c.name) for c in calls)}
        simulators = {n: self._copy(n, each) if n in reached else each for n, each in self._simulators.items()}
        return simulators, [carried_out(simulators, call) for call in calls]

    def _copy(self, name: str, simulator: Simulator) -> Simulator:
        """Copy random numbers by their state, because unpickling them is the slowest part."""
        if name not in self._kept:
            drawn = {key: each.getstate() for key, each in vars(simulator).items() if isinstance(each, Random)}
            rest = {key: each for key, each in vars(simulator).items() if key not in drawn}
            self._kept[name] = pickle.dumps(rest, protocol=5), drawn
        rest_bytes, drawn = self._kept[name]
        made = simulator.__class__.__new__(simulator.__class__)
        made.__dict__.update(pickle.loads(rest_bytes))
        for key, state in drawn.items():
            made.__dict__[key] = fresh = Random.__new__(Random)
            fresh.setstate(state)
        return made


def carried_out(simulators: Mapping[str, Simulator], call: Call) -> str:
    """The result of a call, as text."""
    owner = next((each for each in simulators.values() if each.offers(call.name)), None)
    return error_text(NameError(call.name)) if owner is None else owner.call(call.name, dict(call.arguments))


class Turn:
    """A turn before it is played: the simulators, its tools, the known values, and the expected calls."""

    def __init__(
        self,
        simulators: Mapping[str, Simulator],
        tools: Sequence[FunctionDoc],
        values: Sequence[Any],
        calls: Sequence[Call],
    ) -> None:
        self._world = World(simulators)
        self._owner = {tool: simulator for simulator in simulators.values() for tool in simulator.tools_by_name()}
        self._tools = tools
        self._values = values
        self._calls = list(calls)
        ended, self._results = self._world.after(self._calls)
        self._writes = [self._writing(call.name) and not is_error(result)
                        for call, result in zip(self._calls, self._results, strict=True)]  # fmt: skip
        self._state = state_of(ended)

    def _writing(self, tool: str) -> bool:
        owner = self._owner.get(tool)
        return owner is None or owner.writes(tool)

    def rival(self) -> str | None:
        """Another way with the same effect that is not accepted; ``None`` without one."""
        places = [place for place, writes in enumerate(self._writes) if writes]
        offered = list(self._candidates(writing=True)) if places else []
        for place in places:
            second = places[1] if len(places) == PAIRED and place == places[0] else None
            found = self._replaced(self._world, [], place, offered, second)
            if found is not None:
                return "; ".join(map(exact_text, found))
        return self._other_reading()

    def _replaced(
        self, world: World, results: list[str], place: int, offered: Sequence[Call], second: int | None = None
    ) -> list[Call] | None:
        """The calls after these results with another one in this place, and in a second one if it is needed."""
        between, rest = self._calls[len(results) : place], self._calls[place + 1 :]
        before, more = world.after(between)
        for other, there, result in _workable(before, offered):
            if other == self._calls[place]:
                continue
            made = [*results, *more, result]
            if self._is_rival(there, made, rest):
                return [*between, other, *rest]
            found = None if second is None else self._replaced(World(there), made, second, offered)
            if found is not None:
                return [*between, other, *found]
        return None

    def _is_rival(self, simulators: Mapping[str, Simulator], results: list[str], rest: Sequence[Call]) -> bool:
        ended, more = World(simulators).after(rest) if rest else (simulators, [])
        return bool(missing_results(self._results, [*results, *more])) and state_of(ended) == self._state

    def _other_reading(self) -> str | None:
        """A reading call with the same result as an expected reading call, in other words."""
        for place, (call, result) in enumerate(zip(self._calls, self._results, strict=True)):
            told = () if self._writes[place] else leaves(result)
            if told:
                simulators, _ = self._world.after(self._calls[:place])
                for other in self._candidates(writing=False, beside=call.name):
                    found = carried_out(simulators, other)
                    if found != result and leaves(found) == told:
                        return exact_text(other)
        return None

    def substitute(self) -> str | None:
        """A call of another tool with the same effect, for calls that cannot be made yet."""
        held, wrote = {call.name for call in self._calls}, any(self._writes)
        for other in self._candidates(writing=wrote):
            if other.name in held:
                continue
            ended, (result,) = self._world.after([other])
            if is_error(result):
                continue
            if wrote:
                if state_of(ended) == self._state:
                    return exact_text(other)
            elif any(leaves(result) == leaves(due) != [] for due in self._results):
                return exact_text(other)
        return None

    def _candidates(self, *, writing: bool, beside: str | None = None) -> Iterator[Call]:
        """Calls with the known values; ``beside``: only of the simulator with this tool."""
        owner = self._owner.get(beside) if beside else None
        for document in self._tools:
            name = str(document["name"])
            if self._writing(name) == writing and name != "cd" and owner in (None, self._owner.get(name)):
                yield from islice(self._spellings(document), MOST_SPELLINGS)

    def _spellings(self, document: FunctionDoc) -> Iterator[Call]:
        parameters = document["parameters"]
        properties, required = parameters.get("properties") or {}, parameters.get("required") or []
        options = [list(self._fitting(properties.get(name) or {})) for name in required]
        for values in product(*options):
            yield Call(str(document["name"]), dict(zip(required, values, strict=True)))

    def _fitting(self, schema: Fields) -> Iterator[Any]:
        """Values for a parameter: those in the document, else the known ones, newest first."""
        word = str(schema.get("type"))
        named = list(choices(schema)) if word == "string" else []
        yield from (True, False) if word == "boolean" else named
        kind = None if word == "boolean" else _WORDS.get(word)
        for value in self._values:
            if kind is not None and isinstance(value, kind) and not isinstance(value, bool) and value not in named:
                yield value


def _workable(
    simulators: Mapping[str, Simulator], offered: Sequence[Call]
) -> Iterator[tuple[Call, dict[str, Simulator], str]]:
    """The calls that work here, each with the world after it and its result."""
    here = World(simulators)
    for call in islice(offered, MOST_WAYS):
        there, (result,) = here.after([call])
        if not is_error(result):
            yield call, there, result


def state_of(simulators: Mapping[str, Simulator]) -> dict[str, Any]:
    """The public state of each simulator; references, not copies."""
    return {name: simulator.public_state() for name, simulator in simulators.items()}


def leaves(result: str) -> list[str]:
    """The values of a result, without their names; empty for errors and for yes and no."""
    if is_error(result):
        return []
    found = parts(value_of(result))
    return sorted(str(each) for each in found if isinstance(each, str | int | float) and not isinstance(each, bool))
