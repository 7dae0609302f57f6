"""Many runs of one model: entries that always pass, never pass, or flip, and differences by chance."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.expansion import sort_key
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import JsonObject
from pytest_bfcl.runs.comparability import Purpose, comparability
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.scoring.measurements import Judged, Key
from pytest_bfcl.scoring.statistics import (
    Interval,
    Tally,
    category_interval,
    cluster_of,
    noise_floor,
    spread_of,
    student975,
    wilson,
)

State = Literal["always", "flaky", "never"]
STATES: tuple[State, ...] = ("always", "flaky", "never")
FEWEST_RUNS = 2
FOLDS = 40
"""How often a smoke set is drawn again to measure its error on unseen runs."""


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """One entry in all runs: passed or not, in the order of runs; only entries judged in every run."""

    id: str
    category: str
    passed: tuple[bool, ...]

    @property
    def state(self) -> State:
        """``always``, ``never`` or ``flaky``."""
        return "always" if all(self.passed) else "flaky" if any(self.passed) else "never"


@dataclass(frozen=True, slots=True)
class CategoryStability:
    """One category over all runs.

    ``flip_rate``: share of (entry, pair of runs) that disagree, with its interval over clusters of entries. ``noise``:
    the difference between two of the runs' accuracies (a fraction) that chance alone exceeds once in twenty.
    """

    category: str
    entries: int
    counts: Mapping[State, int]
    accuracies: tuple[float, ...]
    flip_rate: float
    interval95: Interval
    noise: float


@dataclass(frozen=True, slots=True)
class Stability:
    """The compared runs: labels, every entry, every category, and entries that some run did not judge.

    ``notes``: differences of the runs, from `repeat_notes`.
    """

    runs: tuple[str, ...]
    entries: tuple[EntryRecord, ...]
    categories: tuple[CategoryStability, ...]
    left_out: int = 0
    notes: tuple[str, ...] = ()

    def ids(self, state: State) -> list[str]:
        """The entries of one state, in order."""
        return [entry.id for entry in self.entries if entry.state == state]

    def to_dict(self) -> JsonObject:
        """A JSON-able copy."""
        return {
            "runs": list(self.runs),
            "left_out": self.left_out,
            "notes": list(self.notes),
            "categories": {
                found.category: {
                    "entries": found.entries, **{state: found.counts[state] for state in STATES},
                    "accuracies": list(found.accuracies), "flip_rate": found.flip_rate,
                    "interval95": list(found.interval95), "noise": found.noise,
                }
                for found in self.categories
            },
            "entries": {state: self.ids(state) for state in STATES},
        }  # fmt: skip


def stability(runs: Mapping[str, Mapping[Key, Judged]], notes: Iterable[str] = ()) -> Stability:
    """The stability of one model over repeated runs; repeats of one run count as runs."""
    tries: dict[str, Mapping[str, Judged]] = {}
    for label, verdicts in runs.items():
        repeats = sorted({repeat for _, repeat in verdicts})
        for repeat in repeats:
            name = label if len(repeats) == 1 else f"{label} (repeat {repeat})"
            tries[name] = {key[0]: judged for key, judged in verdicts.items() if key[1] == repeat}
    if len(tries) < FEWEST_RUNS:
        raise UsageError("stability needs two runs of one model, or one with --bfcl-repeat")
    everything = {entry_id for verdicts in tries.values() for entry_id in verdicts}
    entries = []
    for entry_id in sorted(everything, key=sort_key):
        found = [verdicts.get(entry_id) for verdicts in tries.values()]
        judged = [each for each in found if each is not None and each.is_verdict]
        if len(judged) == len(tries):
            entries.append(EntryRecord(entry_id, judged[0].category, tuple(each.passed for each in judged)))
    names = [name for name in CATEGORIES if any(entry.category == name for entry in entries)]
    rows = tuple(_category(name, [entry for entry in entries if entry.category == name]) for name in names)
    return Stability(tuple(tries), tuple(entries), rows, len(everything) - len(entries), tuple(notes))


def repeat_notes(runs: Sequence[tuple[str, str, Fingerprint | None]]) -> list[str]:
    """Notes to print with runs (label, model, fingerprint) of one model on one test. Raises `UsageError` for other
    runs.
    """
    first, model, measured = runs[0]
    notes = []
    for label, other, fingerprint in runs[1:]:
        if other != model:
            raise UsageError(
                f"{first} is a run of {model}, {label} of {other}: stability needs runs of one model; "
                "`pytest-bfcl compare` compares two models"
            )
        if measured is not None and fingerprint is not None:
            found = comparability(measured, fingerprint, Purpose.REPEATS)
            if found.refused:
                raise UsageError(f"{first} and {label} are not runs of one model on one test\n{found.listed()}")
            if found.noted:
                notes.append(f"{first} and {label} are {found.sentence}")
        elif (measured is None) != (fingerprint is None):
            raise UsageError(
                f"only one of {first} and {label} records its data: name run directories only, or official folders only"
            )
    return notes


def _category(name: str, entries: Sequence[EntryRecord]) -> CategoryStability:
    count, runs = len(entries), len(entries[0].passed)
    clusters: dict[str, list[EntryRecord]] = {}
    flips = Tally()
    for entry in entries:
        cluster = cluster_of(entry.id, name)
        clusters.setdefault(cluster, []).append(entry)
        for a, b in combinations(entry.passed, 2):
            flips.add(cluster, a is not b, entry.id)
    passed = [[sum(entry.passed[run] for entry in members) for run in range(runs)] for members in clusters.values()]
    return CategoryStability(
        name,
        count,
        {state: sum(entry.state == state for entry in entries) for state in STATES},
        tuple(sum(entry.passed[run] for entry in entries) / count for run in range(runs)),
        flips.accuracy or 0.0,
        flip_interval(name, flips),
        noise_floor(passed, [len(members) for members in clusters.values()]),
    )


def flip_interval(category: str, flips: Tally) -> Interval:
    """The interval of a flip rate.

    The pairs of runs share runs, so the variance from few clusters is skewed. If it is larger than for independent
    entries, it is used with a quantile wider by G ⁄ (G − 1) (bounds by simulation).
    """
    known = category_interval(category, flips)
    if known is None:
        return (0.0, 1.0)
    spread = spread_of({category: 1.0}, {category: flips})
    sizes = [count for _, count in flips.clusters.values()]
    clusters = sum(sizes) ** 2 / sum(size**2 for size in sizes)
    if clusters < 2 or spread.variance <= flips.independent() * (1 + 1e-9):
        return known
    effective = flips.smoothed * (1 - flips.smoothed) / spread.variance
    quantile = student975(clusters - 1) * clusters / (clusters - 1)
    return wilson(flips.passed / flips.total * effective, effective, quantile)


@dataclass(frozen=True, slots=True)
class SmokeSet:
    """Entries whose weighted accuracy predicts the accuracy over all; ``error``: root mean square on held-out runs.

    ``held_out`` is the number of predictions behind ``error``; 0 if there were too few runs.
    """

    ids: tuple[str, ...]
    error: float
    held_out: int


def smoke_set(found: Stability, size: int, seed: int = 0) -> SmokeSet:
    """A smoke set of ``size`` entries: strata by category and how often they passed, entries drawn in proportion.

    The error is measured by holding out each run in turn: strata from the other runs, the held-out run's accuracy
    predicted from the set alone, `FOLDS` draws.
    """
    entries = list(found.entries)
    if not 0 < size <= len(entries):
        raise UsageError(f"--smoke {size}: a number from 1 to {len(entries)}, the entries judged in all runs")
    runs = len(found.runs)
    squares = []
    for held in range(runs):
        others = [run for run in range(runs) if run != held]
        truth = sum(entry.passed[held] for entry in entries) / len(entries)
        for fold in range(FOLDS):
            drawn = _drawn(entries, size, others, random.Random(f"{seed}/{held}/{fold}"))
            squares.append((_predicted(drawn, entries, others, held) - truth) ** 2)
    chosen = _drawn(entries, size, list(range(runs)), random.Random(f"{seed}"))
    ids = sorted((entry.id for entry in chosen), key=sort_key)
    return SmokeSet(tuple(ids), math.sqrt(sum(squares) / len(squares)), len(squares))


def _drawn(entries: Sequence[EntryRecord], size: int, runs: Sequence[int], dice: random.Random) -> list[EntryRecord]:
    """Systematic sampling over the entries sorted by stratum: every stratum gets its share, the total is ``size``."""
    shuffled = list(entries)
    dice.shuffle(shuffled)
    ordered = sorted(shuffled, key=lambda entry: (entry.category, sum(entry.passed[run] for run in runs)))
    step, start = len(ordered) / size, dice.random()
    return [ordered[min(int((start + number) * step), len(ordered) - 1)] for number in range(size)]


def _predicted(drawn: Sequence[EntryRecord], entries: Sequence[EntryRecord], runs: Sequence[int], held: int) -> float:
    """The accuracy of a run over all entries, from its drawn ones and the others' results on all."""
    moved = [entry.passed[held] - sum(entry.passed[run] for run in runs) / len(runs) for entry in drawn]
    before = sum(sum(entry.passed[run] for run in runs) / len(runs) for entry in entries) / len(entries)
    return before + sum(moved) / len(moved)
