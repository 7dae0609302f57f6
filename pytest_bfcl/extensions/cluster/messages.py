"""Messages between the driver of a run and its actors: plain values, in order.

An actor sends messages in pieces of limited size. Ray sends small answers directly, while large ones would stay in the
object store of the actor's node and be lost with it.

Trials travel in units: one trial, or a memory scenario of one model and repeat, as write stages fill the memory that
the questions read. Scenarios are assigned to slots in advance; single trials go to actors with room, longest
first.
"""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl import entry_points
from pytest_bfcl.json_types import Fields
from pytest_bfcl.models.registry import list_providers
from pytest_bfcl.providers.recorded import KEY_VARIABLE

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.models import ModelSpec
    from pytest_bfcl.session.earlier import DoneKey
    from pytest_bfcl.session.trial import Trial, TrialKey
    from pytest_bfcl.settings import Price
    from pytest_bfcl.transcript import Mode


PIECE = 64 * 1024
"""Size of an answer that Ray always sends directly, in bytes (its own limit is 100 KB)."""


# -- to an actor -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SentModel:
    """One contender: ``spec`` names it, or ``adapter`` is the user's object."""

    label: str
    spec: str | None
    adapter: object
    settled: Mode | None
    price: Price | None


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The message for an actor before its first conversation.

    ``environment`` contains keys: it is sent in a call, never in a runtime environment, which Ray stores and shows.
    ``archives``: file name below the run directory → its recorded outside calls so far. ``served``:
    `EarlierParts.served`.
    """

    process: str
    version: str
    data: DataSet
    data_sha256: str
    has_site: bool
    models: Sequence[SentModel]
    settings: Fields = field(repr=False)
    twice: frozenset[str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    archives: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    served: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Job(NamedTuple):
    """One trial: by its id if the actor has the data, else with its entry. ``replies`` are journaled lines."""

    number: int
    label: str
    repeat: int
    entry_id: str
    entry: Entry | None
    replies: tuple[bytes, ...]


class Memory(NamedTuple):
    """The memory of a write stage, as `pytest_bfcl.conversation.journal.Snapshots` stores it."""

    model: str
    repeat: int
    backend: str
    scenario: str
    entry_id: str
    content: object


class Hello(NamedTuple):
    """An actor's introduction: host, versions, and whether it has the run's data."""

    host: str
    version: str
    has_data: bool
    problem: str | None = None


# -- from an actor -----------------------------------------------------------------------------------------------------


class Answered(NamedTuple):
    """A reply has arrived: its journal line, with its key."""

    key: DoneKey
    line: bytes


class Spent(NamedTuple):
    """The cost of a live reply in USD."""

    label: str
    usd: float


class Recorded(NamedTuple):
    """Lines to append to a file of the run directory: results of searches, pages and requests."""

    name: str
    lines: bytes


class Lined(NamedTuple):
    """A trial has ended: its line of ``results.jsonl``."""

    number: int
    line: bytes
    outcome: str
    mode: str


class Noted(NamedTuple):
    """A note for the user at the end of the run."""

    text: str


class Switched(NamedTuple):
    """Mode ``auto`` selected prompting."""

    label: str


class Troubled(NamedTuple):
    """Why this actor must send no more requests."""

    reason: str


class Ended(NamedTuple):
    """The last message."""


Event = Answered | Spent | Memory | Recorded | Lined | Noted | Switched | Troubled | Ended


def pieces(events: Sequence[Event], size: int = PIECE) -> list[bytes]:
    """Events as bytes of at most ``size`` + 1; the first byte shows whether more of them follow."""
    whole = pickle.dumps(list(events), protocol=5)
    parts = [whole[start : start + size] for start in range(0, len(whole), size)]
    return [b"+" + part for part in parts[:-1]] + [b"." + parts[-1]]


class Joiner:
    """Joins pieces, in the order in which they were made."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def events(self, piece: bytes) -> list[Event]:
        """The events that are complete with this piece; a piece without content has none."""
        if not piece:
            return []
        self._parts.append(piece[1:])
        if piece[:1] == b"+":
            return []
        whole, self._parts = b"".join(self._parts), []
        found: list[Event] = pickle.loads(whole)
        return found


def variables_of(specs: Iterable[ModelSpec]) -> list[str]:
    """The names of the variables that these models, the web search and retired categories may need."""
    groups = (entry_points.load(point, "group of categories") for point in entry_points.offered("categories").values())
    names = {KEY_VARIABLE, *(name for group in groups for name in group.key_variables())}
    needed = {info.name: info.needs for info in list_providers()}
    for spec in specs:
        hosted = spec.name.partition("/")[0].replace("-", "_") if spec.provider == "litellm" else ""
        for provider in filter(None, (spec.provider, hosted)):
            prefix = provider.upper()
            names |= {f"{prefix}_API_KEY", f"{prefix}_BASE_URL", f"{prefix}_API_BASE"}
            names |= {name for name in needed.get(provider, ()) if "_" in name}
    return sorted(names)


def environment_of(specs: Iterable[ModelSpec]) -> dict[str, str]:
    """Those of them that are set here, with their values."""
    return {name: os.environ[name] for name in variables_of(specs) if os.environ.get(name)}


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
