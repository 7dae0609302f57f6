"""One run compared with reference runs, entry by entry: is the model served in the same way?

Every measure is a yes or no of an entry, and pairs of the same entry are compared, so that common failures do not
count. Each measure has two figures, from which the verdict follows. One is an interval for all measures together at 1 -
`CHANCE`: a server differs if one excludes zero. The other is the largest possible loss at 95 %: a server is the same if
each is below its margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal, NamedTuple

from pytest_bfcl.endings import Ending, ending_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.scoring.conduct import FAULTS, Conduct, ConductTally
from pytest_bfcl.scoring.statistics import (
    Interval,
    PairTally,
    Spread,
    cluster_of,
    noise_floor,
    spread_of,
    stratum_of,
    student_point,
)

CHANCE = 0.01
"""How often all measures together may call two equal servers different."""
MARGIN = 0.03
"""The loss (a fraction) that must be ruled out before a server counts as equal to the reference."""
HARD_MARGIN = 0.005
"""The same for `HARD` faults, which servers make and models do not."""
HARD = frozenset(("unknown", "broken", "invalid", "lost"))
ONE_SIDED = 0.05
"""How often a server with a loss of the margin may be called the same."""

Verdict = Literal["same", "other", "unknown"]
Worse = Literal["more", "less", "either"]


class Measure(NamedTuple):
    """One yes or no of an entry. ``words`` complete "entries that …"; ``worse``: the direction that is bad for a
    server; ``endings``: the words of one class of endings, if the measure is that a reply ends so.
    """

    name: str
    words: str
    worse: Worse = "more"
    endings: frozenset[str] = frozenset()

    def of(self, found: Conduct) -> bool | None:
        """The answer of one conduct; ``None`` if unknown."""
        if self.name == "errors" or found.passed is None:
            return found.passed is None if self.name == "errors" else None
        if self.name in FAULTS:
            return found.has(self.name)
        if self.endings:
            return bool(self.endings & found.finish) if found.finish else None
        return bool(getattr(found, self.name))


MEASURES = (
    Measure("called", "are answered with a call", "either"),
    Measure("unknown", "call a name that was not offered"),
    Measure("broken", "have no JSON object as arguments"),
    Measure("invalid", "have arguments invalid by schema"),
    Measure("lost", "have a call left in the text"),
    Measure("reasoning_only", "get reasoning and no answer"),
    Measure("empty", "get an empty answer"),
    Measure("retried", "are answered only after a retry"),
    Measure("passed", "are answered right", "less"),
    Measure("errors", "end in an error"),
)


SILENT = frozenset(("completed", "STOP"))
"""Words of Responses and Gemini for both replies with calls and without."""


def _finish_measures(runs: Iterable[Run]) -> list[Measure]:
    """A measure for each class of endings that both runs report. Classes, because the same ending has another word in
    another API. If one run's API has one word for replies with and without calls, these are not compared. An unknown
    word is its own class.
    """
    words = [{word for found in run.values() for each in found for word in each.finish} for run in runs]
    if not all(words):
        return []
    folded = any(SILENT & each for each in words)
    kinds: dict[str, set[str]] = {}
    for word in set().union(*words):
        kind = ending_of(word)
        if kind is Ending.CALLS and folded:
            kind = Ending.NORMAL
        kinds.setdefault(word if kind is Ending.TROUBLE else kind.value, set()).add(word)
    return [
        Measure(f"finish:{kind}", f"end a reply with {kind!r}", "either", frozenset(found))
        for kind, found in sorted(kinds.items())
    ]


Run = Mapping[str, Sequence[Conduct]]
"""Entry id → conducts, one for each repeat."""


def by_entry(conducts: Iterable[Conduct]) -> dict[str, list[Conduct]]:
    """Conducts as a `Run`."""
    run: dict[str, list[Conduct]] = {}
    for found in conducts:
        run.setdefault(found.id, []).append(found)
    return run


@dataclass(frozen=True, slots=True)
class Row:
    """One compared measure: shares of entries (fractions), their difference and its uncertainty.

    ``interval99`` holds for all rows together. ``floor``: a difference that two runs of the reference's own server
    exceed once in twenty; no interval is narrower. ``error``: the one-sided 95 % error of the difference. ``margin``:
    the loss to rule out.
    """

    measure: Measure
    entries: int
    before: float
    after: float
    difference: float
    interval99: Interval
    floor: float
    error: float
    margin: float

    @property
    def loss(self) -> float:
        """The loss of the served model; at most 0 without one."""
        return {"more": self.difference, "less": -self.difference, "either": abs(self.difference)}[self.measure.worse]

    @property
    def is_told_apart(self) -> bool:
        """Whether the interval excludes zero."""
        return not self.interval99[0] <= 0 <= self.interval99[1]

    @property
    def is_other(self) -> bool:
        """Whether the interval excludes zero, against the served model."""
        return self.loss > 0 and self.is_told_apart

    @property
    def worst(self) -> float:
        """The largest possible loss, at 95 %."""
        return self.loss + self.error

    @property
    def is_same(self) -> bool:
        """Whether a loss of the margin is ruled out."""
        return self.worst < self.margin

    @property
    def least(self) -> int:
        """Entries with which the margin would be ruled out if nothing differs: then intervals shrink in proportion."""
        return math.floor((self.entries + 2) * self.error / self.margin) - 1  # two pairs are added: `PairTally`

    @property
    def needed(self) -> int:
        """Entries with which the margin would be ruled out, or this loss found."""
        if self.loss < self.margin / 2:
            return math.ceil(self.entries * (self.error / (self.margin - max(self.loss, 0.0))) ** 2)
        half = (self.interval99[1] - self.interval99[0]) / 2
        return math.ceil(self.entries * (half / self.loss) ** 2)


@dataclass(frozen=True, slots=True)
class Trigger:
    """Decisions to call compared with the reference's: precision, recall and F1 are ``None`` for a division by zero."""

    both: int = 0
    only_served: int = 0
    only_reference: int = 0
    neither: int = 0

    @classmethod
    def of(cls, called: PairTally) -> Trigger:
        """From the pairs of answers, each with a call or without."""
        neither = called.total - called.before - called.improved
        return cls(called.before - called.regressed, called.improved, called.regressed, neither)

    @property
    def precision(self) -> float | None:
        """The share of its calls that the reference also has."""
        return _share(self.both, self.both + self.only_served)

    @property
    def recall(self) -> float | None:
        """The share of the reference's calls that it also has."""
        return _share(self.both, self.both + self.only_reference)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both."""
        return _share(2 * self.both, 2 * self.both + self.only_served + self.only_reference)


def _share(count: float, total: float) -> float | None:
    return count / total if total else None


@dataclass(frozen=True, slots=True)
class Side:
    """One run alone: counts, and the medians of seconds and output tokens of an entry."""

    label: str
    tally: ConductTally
    accuracy: float | None
    latency_s: float | None
    output_tokens: float | None


@dataclass(frozen=True, slots=True)
class Verification:
    """A served run compared with reference runs. ``repeated``: several reference runs measure the noise floor."""

    served: Side
    reference: Side
    rows: tuple[Row, ...]
    trigger: Trigger
    entries: int
    repeated: int
    margin: float = MARGIN
    notes: tuple[str, ...] = field(default=())

    @property
    def others(self) -> list[Row]:
        """The differing measures, the largest loss first."""
        return sorted((row for row in self.rows if row.is_other), key=lambda row: -row.loss)

    @property
    def verdict(self) -> Verdict:
        """``other``: an interval excludes zero against it; ``same``: every loss of a margin is ruled out."""
        if self.others:
            return "other"
        return "same" if all(row.is_same for row in self.rows) else "unknown"

    @property
    def more(self) -> int:
        """Missing requests for a verdict, by present knowledge."""
        return max(1, max((row.needed for row in self.rows if not row.is_same), default=0) - self.entries)


def verify(
    served: Run,
    references: Sequence[Run],
    *,
    labels: tuple[str, str] = ("served", "reference"),
    margin: float = MARGIN,
    notes: Sequence[str] = (),
) -> Verification:
    """Compare one run with one or several reference runs. Raises `UsageError` without a common entry."""
    shared = [entry_id for entry_id in served if any(entry_id in run for run in references)]
    if not shared:
        raise UsageError(f"{labels[0]} and {labels[1]} share no entry: nothing can be compared")
    # Of the reference only what was asked of the server: shares of both sides are about the same entries.
    asked = ({entry_id: run[entry_id] for entry_id in shared if entry_id in run} for run in references)
    used = [repeat for run in asked for repeat in _repeats(run)]
    mine = {entry_id: served[entry_id] for entry_id in shared}
    measures = (*MEASURES, *_finish_measures([mine, *used]))
    found = [each for measure in measures if (each := _counted(measure, mine, used)) is not None]
    tail = CHANCE / (2 * max(len(found), 1))
    return Verification(
        side_of(labels[0], mine),
        side_of(labels[1], by_entry(each for run in used for many in run.values() for each in many)),
        tuple(_row(*each, used, tail, margin) for each in found),
        Trigger.of(_tally(MEASURES[0], mine, used)),
        len(shared),
        len(used),
        margin,
        tuple(notes),
    )


def _repeats(run: Run) -> list[Run]:
    """A run whose entries ran several times, as several runs."""
    most = max(map(len, run.values()), default=0)
    return [{entry_id: [many[k]] for entry_id, many in run.items() if k < len(many)} for k in range(most)]


def _pairs(served: Run, references: Sequence[Run]) -> Iterable[tuple[Conduct, Conduct]]:
    """Every (reference, served) pair of an entry."""
    for entry_id, mine in served.items():
        for run in references:
            for before in run.get(entry_id, ()):
                for after in mine:
                    yield before, after


def _counted(measure: Measure, served: Run, references: Sequence[Run]) -> tuple[Measure, PairTally] | None:
    """One measure over all pairs.

    ``None`` if it is unknown for all pairs, or never true; a hard fault that never occurs is a result.
    """
    tally = _tally(measure, served, references)
    counts = tally.before or tally.improved or measure.name in HARD
    return (measure, tally) if tally.total and counts else None


def _tally(measure: Measure, served: Run, references: Sequence[Run]) -> PairTally:
    tally = PairTally()
    for first, second in _pairs(served, references):
        before, after = measure.of(first), measure.of(second)
        if before is not None and after is not None:
            stratum = stratum_of(first.category)
            tally.add(f"{stratum}/{cluster_of(first.id, first.category)}", before, after, f"{stratum}/{first.id}")
    return tally


def _row(measure: Measure, tally: PairTally, references: Sequence[Run], tail: float, margin: float) -> Row:
    spread = spread_of({"entries": 1.0}, {"entries": tally})
    deviation, difference = math.sqrt(spread.variance), tally.mean
    floor = _floor(measure, references, spread)
    half = student_point(spread.freedom, tail) * deviation
    if len(references) > 1:
        half = max(half, floor)
    return Row(
        measure,
        len(tally.entries),
        tally.before / tally.total,
        (tally.before + tally.sum) / tally.total,
        difference,
        (max(-1.0, difference - half), min(1.0, difference + half)),
        floor,
        student_point(spread.freedom, ONE_SIDED if measure.worse != "either" else ONE_SIDED / 2) * deviation,
        _least(measure, margin),
    )


def _least(measure: Measure, margin: float) -> float:
    """The loss to rule out."""
    return min(margin, HARD_MARGIN) if measure.name in HARD else margin


def requests_needed(reference: Run, margin: float = MARGIN) -> int:
    """Entries after which an equal server would be called the same, from the reference's results. An upper estimate,
    because it treats two answers to an entry as independent.
    """
    used = _repeats(reference)
    quantile, most = student_point(math.inf, ONE_SIDED / 2), 0
    for measure in MEASURES:
        told = [value for run in used for (found,) in run.values() if (value := measure.of(found)) is not None]
        share = sum(told) / len(told) if told else 0.0
        # Two pairs that differ are added (`PairTally.independent`): n · margin = quantile · √(n · differing + 2).
        differing, ratio = 2 * share * (1 - share), (quantile / _least(measure, margin)) ** 2
        most = max(most, math.ceil((ratio * differing + math.sqrt((ratio * differing) ** 2 + 8 * ratio)) / 2))
    return most


def _floor(measure: Measure, references: Sequence[Run], spread: Spread) -> float:
    """The difference of two runs of one server, from several reference runs if given."""
    if len(references) < 2:
        return spread.half_width
    sums: dict[str, list[int]] = {}
    sizes: dict[str, int] = {}
    for entry_id in references[0]:
        found = [run[entry_id][0] for run in references if run.get(entry_id)]
        values = [measure.of(each) for each in found]
        if len(found) == len(references) and None not in values:
            cluster = f"{stratum_of(found[0].category)}/{cluster_of(entry_id, found[0].category)}"
            row = sums.setdefault(cluster, [0] * len(references))
            for run, value in enumerate(values):
                row[run] += bool(value)
            sizes[cluster] = sizes.get(cluster, 0) + 1
    return noise_floor(list(sums.values()), list(sizes.values())) if sums else spread.half_width


def side_of(label: str, run: Run) -> Side:
    """One run's own figures."""
    tally = ConductTally()
    conducts = [found for many in run.values() for found in many]
    for found in conducts:
        tally.add(found)
    judged = [found.passed for found in conducts if found.passed is not None]
    latencies = [found.latency_s for found in conducts if found.latency_s is not None]
    tokens = [found.output_tokens for found in conducts if found.output_tokens is not None]
    return Side(
        label,
        tally,
        _share(sum(judged), len(judged)),
        median(latencies) if latencies else None,
        median(tokens) if tokens else None,
    )
