"""Does this server serve the model like another one? Compares one run with reference runs, entry by entry.

Every measure is a yes or no of an entry, and pairs of the same entry are compared, so that common failures do not
count. Each measure has two figures, from which the verdict follows. One is an interval for all measures together at 1 -
`CHANCE`: a server differs if one excludes zero. The other is the largest possible loss at 95 %: a server is the same if
each is below its margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal, NamedTuple

from pytest_bfcl.endings import Ending, ending_of
from pytest_bfcl.extensions.boards.stability import noise_floor
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import JsonObject
from pytest_bfcl.reporting.rendering import percent
from pytest_bfcl.scoring.conduct import Conduct, ConductTally
from pytest_bfcl.scoring.statistics import (
    Interval,
    PairTally,
    Spread,
    cluster_of,
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
EXIT_CODES: Mapping[Verdict, int] = {"same": 0, "other": 1, "unknown": 3}


@dataclass(frozen=True, slots=True)
class Measure:
    """One yes or no of an entry; ``None`` if unknown. ``worse``: the direction that is bad for a server.

    ``words`` complete "entries that …"
    """

    name: str
    words: str
    worse: Worse
    of: Callable[[Conduct], bool | None]


def _judged(get: Callable[[Conduct], bool | None]) -> Callable[[Conduct], bool | None]:
    return lambda found: None if found.passed is None else get(found)


def _fault(name: str) -> Callable[[Conduct], bool | None]:
    return _judged(lambda found: found.has(name))


MEASURES = (
    Measure("called", "are answered with a call", "either", _judged(lambda found: found.called)),
    Measure("unknown", "call a name that was not offered", "more", _fault("unknown")),
    Measure("broken", "have no JSON object as arguments", "more", _fault("broken")),
    Measure("invalid", "have arguments invalid by schema", "more", _fault("invalid")),
    Measure("lost", "have a call left in the text", "more", _judged(lambda found: found.lost)),
    Measure("reasoning_only", "get reasoning and no answer", "more", _judged(lambda found: found.reasoning_only)),
    Measure("empty", "get an empty answer", "more", _judged(lambda found: found.empty)),
    Measure("retried", "are answered only after a retry", "more", _judged(lambda found: found.retried)),
    Measure("passed", "are answered right", "less", lambda found: found.passed),
    Measure("errors", "end in an error", "more", lambda found: found.passed is None),
)


SILENT = frozenset(("completed", "STOP"))
"""Words of Responses and Gemini for both replies with calls and without."""


def _finish_measures(runs: Iterable[Run]) -> list[Measure]:
    """A measure for each class of endings that both runs report. Classes, because the same ending has another word in
    another API. If one run's API has one word for replies with and without calls, these are not compared.
    """
    words = [{word for found in run.values() for each in found for word in each.finish} for run in runs]
    if not all(words):
        return []
    folded = any(SILENT & each for each in words)
    kinds = {word: _kind(word, folded) for word in set().union(*words)}
    return [
        Measure(f"finish:{kind}", f"end a reply with {kind!r}", "either", _judged(_ends_with(kind, kinds)))
        for kind in sorted(set(kinds.values()))
    ]


def _kind(word: str, folded: bool) -> str:
    """The class of an ending; an unknown word is its own."""
    kind = ending_of(word)
    if kind is Ending.CALLS and folded:
        return Ending.NORMAL.value
    return word if kind is Ending.TROUBLE else kind.value


def _ends_with(kind: str, kinds: Mapping[str, str]) -> Callable[[Conduct], bool | None]:
    return lambda found: any(kinds[word] == kind for word in found.finish) if found.finish else None


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

    def to_dict(self) -> JsonObject:
        """A JSON-able copy."""
        return {
            "entries": self.entries,
            "reference": self.before,
            "served": self.after,
            "difference": self.difference,
            "interval99": list(self.interval99),
            "noise_floor": self.floor,
            "loss_at_most": self.worst,
            "margin": self.margin,
            "other": self.is_other,
        }

    @property
    def loss(self) -> float:
        """The loss of the served model; at most 0 without one."""
        return {"more": self.difference, "less": -self.difference, "either": abs(self.difference)}[self.measure.worse]

    @property
    def is_other(self) -> bool:
        """Whether the interval excludes zero, against the served model."""
        return self.loss > 0 and not self._holds_zero

    @property
    def is_better(self) -> bool:
        """Whether the interval excludes zero, in favour of the served model."""
        return self.loss < 0 and not self._holds_zero

    @property
    def _holds_zero(self) -> bool:
        return self.interval99[0] <= 0 <= self.interval99[1]

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


TRIGGER = ("both", "only_served", "only_reference", "neither", "precision", "recall", "f1")


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

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.verdict == "same":
            return (
                f"serves the model the same within {100 * self.margin:g} points "
                f"(hard faults within {100 * min(self.margin, HARD_MARGIN):g})"
            )
        if self.verdict == "unknown":
            return f"too few requests to tell: about {self.more:,} more would do"
        told = [
            f"{percent(row.after)} of entries {row.measure.words}, {percent(row.before)} there" for row in self.others
        ]
        return "differs from the reference: " + "; ".join(told)

    @property
    def noise(self) -> str:
        """The source of the noise floor."""
        if self.repeated > 1:
            return f"noise floor measured between {self.repeated} runs of the reference"
        return (
            "noise floor from the binomial of entries on which the two runs differ: a second run of the reference "
            "(another --reference, or one with --repeat) would measure it"
        )

    def to_dict(self) -> JsonObject:
        """A JSON-able copy."""
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "served": self.served.label,
            "reference": self.reference.label,
            "entries": self.entries,
            "more": self.more if self.verdict == "unknown" else 0,
            "margin": self.margin,
            "noise": self.noise,
            "trigger": {name: getattr(self.trigger, name) for name in TRIGGER},
            "measures": {row.measure.name: row.to_dict() for row in self.rows},
            "notes": list(self.notes),
        }


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
    found = [_counted(each, mine, used) for each in (*MEASURES, *_finish_measures([mine, *used]))]
    counted = [each for each in found if each is not None]
    tail = CHANCE / (2 * max(len(counted), 1))
    return Verification(
        side_of(labels[0], mine),
        side_of(labels[1], by_entry(each for run in used for many in run.values() for each in many)),
        tuple(_row(each, used, tail, margin) for each in counted),
        trigger_of(mine, used),
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


class _Counted(NamedTuple):
    """One measure over all pairs: how often it is true for the reference and for the served run."""

    measure: Measure
    tally: PairTally


def _counted(measure: Measure, served: Run, references: Sequence[Run]) -> _Counted | None:
    """``None`` if a measure is unknown for all pairs, or never true; a hard fault that never occurs is a result."""
    tally = PairTally()
    for first, second in _pairs(served, references):
        before, after = measure.of(first), measure.of(second)
        if before is not None and after is not None:
            stratum = stratum_of(first.category)
            tally.add(f"{stratum}/{cluster_of(first.id, first.category)}", before, after, f"{stratum}/{first.id}")
    counts = tally.before or tally.improved or measure.name in HARD
    return _Counted(measure, tally) if tally.total and counts else None


def _row(found: _Counted, references: Sequence[Run], tail: float, margin: float) -> Row:
    measure, tally = found.measure, found.tally
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
        min(margin, HARD_MARGIN) if measure.name in HARD else margin,
    )


def requests_needed(reference: Run, margin: float = MARGIN) -> int:
    """Entries after which an equal server would be called the same, from the reference's results. An upper estimate,
    because it treats two answers to an entry as independent.
    """
    used = _repeats(reference)
    quantile, most = student_point(math.inf, ONE_SIDED / 2), 0
    for measure in MEASURES:
        told = [value for run in used for (found,) in run.values() if (value := measure.of(found)) is not None]
        share = sum(told) / len(told) if told else 0.0
        least = min(margin, HARD_MARGIN) if measure.name in HARD else margin
        # Two pairs that differ are added (`PairTally.independent`): n · margin = quantile · √(n · differing + 2).
        differing, ratio = 2 * share * (1 - share), (quantile / least) ** 2
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


def trigger_of(served: Run, references: Sequence[Run]) -> Trigger:
    """Decisions to call in all pairs that were judged on both sides."""
    count = [0, 0, 0, 0]
    for before, after in _pairs(served, references):
        if before.passed is not None and after.passed is not None:
            count[2 * (not after.called) + (not before.called)] += 1
    return Trigger(*count)


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
