"""Places of possible differences, the fixes of differences, and all places of a case."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.cases import Case, Due, Made, Turn

Fix = Callable[[list[Turn]], None]
Features = dict[str, Any]

Why = tuple[tuple[str, str], ...]
At = tuple[int, int, int]
"""Turn, step and number of a call."""
NOTHING: Any = object()
"""In place of what was said where nothing is to be learned from it."""
_ORDER = ("raw", "value", "key", "extra", "name", "count", "reply", "undue", "text")
"""Order of fixes: values are fixed under their old names."""


class Context(NamedTuple):
    """Where a place is: the turn and its number, the number of the call that is expected there, the argument."""

    case: Case
    turn: Turn
    number: int
    nth: int = 0
    key: str = ""

    @property
    def due(self) -> Due:
        """The call that is expected there."""
        return self.turn.due[self.nth]


@dataclass
class Place:
    """A place of a possible difference: ``level`` of the call's parts, ``kind`` of the part."""

    level: str
    kind: str
    features: Features
    candidates: tuple[tuple[str, str], ...] = ()
    """Possible causes, each with its parameter, the most specific first."""
    fix: Fix | None = None
    at: At = (0, 0, 0)
    due: Any = None
    said: Any = NOTHING
    of: Context | None = None
    right: Any = NOTHING
    """What was said where it counts as right."""
    adds: bool = False
    """Whether the fix adds calls: then it is made last, because positions of calls change."""

    @property
    def differs(self) -> bool:
        """Whether there is a difference."""
        return self.fix is not None

    @property
    def exact(self) -> bool:
        """Whether texts are compared letter for letter: in states, and where they hold code."""
        entry = self.of.case.entry if self.of is not None else None
        if self.level != "value":
            return True
        return entry is not None and (entry.row.checker == "state" or entry.language != "python")

    @property
    def rank(self) -> int:
        """When its fix is made."""
        return len(_ORDER) if self.adds else _ORDER.index(self.level)


@dataclass
class Found:
    """All places of a case."""

    case: Case
    features: Features
    places: list[Place] = field(default_factory=list)

    @property
    def differences(self) -> list[Place]:
        """The places with a difference."""
        return [each for each in self.places if each.differs]


def call_at(draft: list[Turn], at: At) -> Made:
    """The call of a draft at a place."""

    turn, step, index = at
    return draft[turn].steps[step][index]


def set_given(at: At, given: dict[str, Any], name: str = "") -> Fix:
    """Give a call other arguments, and a name."""

    def fix(draft: list[Turn]) -> None:
        call = call_at(draft, at)
        call.name, call.given = name or call.name, copy.deepcopy(given)

    return fix


def set_value(at: At, path: tuple[Any, ...], value: Any) -> Fix:
    """Put a value at a place in the arguments."""

    def fix(draft: list[Turn]) -> None:
        place: Any = call_at(draft, at).given
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return fix


def rename(at: At, said: str, due: str) -> Fix:
    """Give an argument its expected name."""

    def fix(draft: list[Turn]) -> None:
        given = call_at(draft, at).given
        if given is not None and said in given:
            given[due] = given.pop(said)

    return fix


def remove(at: At, key: str) -> Fix:
    """Remove an argument."""

    def fix(draft: list[Turn]) -> None:
        (call_at(draft, at).given or {}).pop(key, None)

    return fix


def drop(at: At) -> Fix:
    """Remove a call."""

    def fix(draft: list[Turn]) -> None:
        call_at(draft, at).gone = True

    return fix


def put_right(at: At, due: Due) -> Fix:
    """Replace a call by the expected one."""

    def fix(draft: list[Turn]) -> None:
        call = call_at(draft, at)
        call.name, call.given = due.name, dict(due.said)

    return fix


def add(turn: int, step: int, due: list[Due], missing: list[int], kept: dict[int, tuple[int, int]]) -> Fix:
    """Insert missing calls before the next expected one."""

    def fix(draft: list[Turn]) -> None:
        steps = draft[turn].steps
        for d in reversed(missing):
            later = [kept[each] for each in sorted(kept) if each > d]
            s, index = later[0] if later else (step, len(steps[step]))
            steps[s].insert(index, Made(due[d].name, dict(due[d].said)))

    return fix


def in_order(turn: int, due: list[Due]) -> Fix:
    """The calls of a turn in the expected order."""

    def fix(draft: list[Turn]) -> None:
        steps = draft[turn].steps
        made = [call for step in steps for call in step]
        for step in steps:
            step.clear()
        for each in due:
            call = next(call for call in made if call.name == each.name)
            made.remove(call)
            steps[0].append(call)

    return fix


def restore(turn: int, due: list[Due]) -> Fix:
    """Replace the output by the expected calls of a turn."""

    def fix(draft: list[Turn]) -> None:
        steps = draft[turn].steps
        calls = [Made(each.name, dict(each.said)) for each in due]
        if steps:
            steps[:] = [calls, *([] for _ in steps[1:])]
        else:
            steps.append(calls)

    return fix


def drop_all(turn: int) -> Fix:
    """Remove all calls of a turn."""

    def fix(draft: list[Turn]) -> None:
        for step in draft[turn].steps:
            for call in step:
                call.gone = True

    return fix
