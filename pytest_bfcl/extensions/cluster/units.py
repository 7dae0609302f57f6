"""Units of trials that stay together, and their assignment to actors.

A unit is one trial, or a memory scenario of one model and repeat: the write stages fill the memory that the questions
read. Scenarios are assigned to slots in advance; single trials go to actors with room, longest first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bfcl.session.trial import Trial, TrialKey

SUSPICIOUS = 2
"""Actors lost in a row with a unit, after which it is given alone, because one of its trials may end them."""
CONDEMNED = 4
"""Losses after which its trials are errors."""


@dataclass(slots=True)
class Unit:
    """Trials that one actor holds, by their numbers in the plan. ``losses``: actors in a row that died with it before
    any report about it."""

    trials: dict[int, Trial]
    stages: dict[int, Trial] = field(default_factory=dict)
    failed: frozenset[int] = frozenset()
    chained: bool = False
    losses: int = 0

    @property
    def suspicious(self) -> bool:
        """Whether it is given alone."""
        return self.losses >= SUSPICIOUS

    @property
    def weight(self) -> float:
        """Its approximate number of requests."""
        return sum(trial.demands()[1] for trial in self.trials.values())

    def over(self, number: int, outcome: str) -> None:
        """A trial has its line. A write stage that ended in an error runs again if its questions must run."""
        trial = self.trials.pop(number, None)
        if trial is not None and self.chained and outcome == "error":
            self.stages[number] = trial
            self.failed |= {number}

    def again(self) -> dict[int, Trial]:
        """The remaining trials for another actor, in planned order."""
        again = dict(self.trials)
        while True:
            needed = {key for trial in again.values() for key in trial.demands()[0]}
            back = {n: stage for n, stage in self.stages.items() if n not in again and stage.key in needed}
            if not back:
                return dict(sorted(again.items()))
            again |= back


def units_of(trials: Iterable[Trial]) -> list[Unit]:
    """The units of planned trials (`pytest_bfcl.session.earlier.plan_trials`), in their order."""
    groups = _Groups()
    units: dict[TrialKey, Unit] = {}
    listed = list(trials)
    chained = [(trial, trial.demands()[0]) for trial in listed]
    for trial, stages in chained:
        for stage in stages:
            groups.join(trial.key, stage)
    for number, (trial, stages) in enumerate(chained):
        unit = units.setdefault(groups.head(trial.key), Unit({}))
        unit.trials[number] = trial
        unit.chained = unit.chained or bool(stages)
    return list(units.values())


class _Groups:
    """Which keys belong together."""

    def __init__(self) -> None:
        self._parents: dict[TrialKey, TrialKey] = {}

    def head(self, key: TrialKey) -> TrialKey:
        while (parent := self._parents.get(key, key)) != key:
            self._parents[key] = self._parents.get(parent, parent)
            key = parent
        return key

    def join(self, a: TrialKey, b: TrialKey) -> None:
        self._parents[self.head(a)] = self.head(b)


class Backlog:
    """Units that wait for an actor. ``slots``: the run's number of actors."""

    def __init__(self, units: Iterable[Unit], slots: int) -> None:
        listed = list(units)
        singles = [unit for unit in listed if not unit.chained]
        self._singles = deque(sorted(singles, key=lambda unit: -unit.weight))
        self._chains: list[deque[Unit]] = [deque() for _ in range(slots)]
        loads = [0.0] * slots
        for unit in sorted((unit for unit in listed if unit.chained), key=lambda unit: -unit.weight):
            lightest = loads.index(min(loads))
            self._chains[lightest].append(unit)
            loads[lightest] += unit.weight

    def next(self, slot: int, *, room: int, busy: bool, vacant: Iterable[int] = ()) -> Unit | None:
        """The next unit for a slot, ``None`` without one.

        ``room``: how many more single trials it should hold; ``busy``: whether it holds any unit; ``vacant``: slots
        without an actor, whose scenarios may be taken.
        """
        places = [self._chains[slot], *([self._singles] if room > 0 else [])]
        if not busy:
            places += [self._chains[other] for other in vacant]
        for place in places:
            if place and not (place[0].suspicious and busy):
                return place.popleft()
        return None

    def give_back(self, units: Iterable[Unit], slot: int) -> None:
        """Units of a lost actor: next in turn, suspicious ones last."""
        for unit in reversed(list(units)):
            place = self._chains[slot] if unit.chained else self._singles
            place.append(unit) if unit.suspicious else place.appendleft(unit)

    def __len__(self) -> int:
        return len(self._singles) + sum(map(len, self._chains))
