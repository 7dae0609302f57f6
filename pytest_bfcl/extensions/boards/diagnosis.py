"""Why a run lost what it lost, and why a score fell: failures counted by cause, with intervals and what to try next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_bfcl.dataset.categories import is_write_stage
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.extensions.boards.causes import CAUSES, Cause, cause_of, holds_two_calls
from pytest_bfcl.json_types import Fields, Parsed, leaves
from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.scoring.statistics import PairTally, cluster_of, interval, paired_spread, wilson

EXAMPLES = 2
LEAST_PARALLEL = 5
"""Entries that ask for several calls: with fewer nobody can say that a model never makes two."""
IDS = "ids.txt"


class Case(NamedTuple):
    """A failed line as far as it is told: its trial and what it cost.

    ``sentence`` is what a report begins with: of the first `EXAMPLES` cases of a cause, which are shown with it.
    """

    entry_id: str
    category: str
    repeat: int
    sentence: str
    output_tokens: float
    latency_s: float


@dataclass
class CauseCount:
    """The failures of one cause."""

    cause: Cause
    cases: list[Case] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        """The entries, in the run's order."""
        return list(dict.fromkeys(case.entry_id for case in self.cases))

    @property
    def tokens(self) -> str:
        """Mean output tokens of an entry."""
        return mean(case.output_tokens for case in self.cases)

    @property
    def seconds(self) -> str:
        """Mean latency of an entry's requests together (s)."""
        return mean(case.latency_s for case in self.cases)


@dataclass
class Diagnosis:
    """One model's run by causes; `counts` holds only causes that occur, the largest first."""

    model: str
    judged: int = 0
    passed: int = 0
    keys: dict[tuple[str, str, int], str] = field(default_factory=dict)
    """(category, id, repeat) → key of the cause, empty for passed ones."""
    counts: list[CauseCount] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Entries judged and not passed."""
        return self.judged - self.passed

    def lines(self) -> Iterator[str]:
        """For a terminal: one line a cause, then its examples and what to try."""
        yield f"{clean(self.model)}: {self.failed} of {self.judged} entries failed"
        for count in self.counts:
            low, high = wilson(len(count.cases), self.failed)
            number = len(count.cases)
            share, points = 100 * number / self.failed, 100 * number / self.judged
            yield (
                f"{number:5} {count.cause.title}: {share:.0f} % of the loss ({100 * low:.0f}-{100 * high:.0f}), "
                f"{points:.1f} points, {count.tokens} tokens, {count.seconds} s"
            )
            for case in count.cases[:EXAMPLES]:
                yield f"        {clean(case.entry_id)}: {clean(cut(case.sentence, 110))}"
        for count in self.counts[:3]:
            yield f"next, {count.cause.title}: {clean(self.command(count.cause))}"

    def command(self, cause: Cause) -> str:
        """The next experiment."""
        model = self.model.partition("@")[0] if "--bfcl-mode" in cause.next_step else self.model
        return cause.next_step.format(model=model, ids=IDS)

    def to_json(self) -> Parsed:
        """For programs: every cause with its interval, ids and command."""
        return {
            "model": self.model,
            "judged": self.judged,
            "failed": self.failed,
            "causes": [
                {
                    "cause": count.cause.key,
                    "title": count.cause.title,
                    "failed": len(count.cases),
                    "share": len(count.cases) / self.failed,
                    "interval95": list(wilson(len(count.cases), self.failed)),
                    "points": len(count.cases) / self.judged,
                    "ids": count.ids,
                    "next": self.command(count.cause),
                }
                for count in self.counts
            ],
        }


class Change(NamedTuple):
    """What a cause has to do with a score that changed; all numbers in shares of the entries judged in both."""

    cause: Cause
    before: int
    after: int
    points: float
    interval95: tuple[float, float]
    new: tuple[str, ...]
    """Ids that fail for this cause now and passed before."""

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.interval95[0] > 0 or self.interval95[1] < 0


def diagnose(lines: Iterable[Fields]) -> list[Diagnosis]:
    """The models of a run, in the order of their first lines; lines that were not judged say nothing."""
    held: dict[str, list[Fields]] = defaultdict(list)
    for line in lines:
        if line.get("outcome") in ("passed", "failed") and not is_write_stage(str(line.get("category"))):
            held[str(line.get("model"))].append(line)
    return [_of_model(model, found) for model, found in held.items()]


def _of_model(model: str, lines: list[Fields]) -> Diagnosis:
    found, by_cause = Diagnosis(model), {key: CauseCount(cause) for key, cause in CAUSES.items()}
    asking = sum("parallel" in str(line.get("category")) for line in lines)
    two = asking < LEAST_PARALLEL or any(holds_two_calls(line) for line in lines if not _in_steps(line))
    for line in lines:
        found.judged += 1
        key = _trial(line)
        if line["outcome"] == "passed":
            found.passed += 1
            found.keys[key] = ""
            continue
        cause = cause_of(line, two_calls=two)
        found.keys[key] = cause.key
        cases = by_cause[cause.key].cases
        cases.append(_case(line, key, told=len(cases) < EXAMPLES))
    counts = [count for count in by_cause.values() if count.cases]
    found.counts = sorted(counts, key=lambda count: (count.cause.key == "other", -len(count.cases)))
    return found


def changes(before: Diagnosis, after: Diagnosis) -> list[Change]:
    """Causes of failures in either run over the entries judged in both, the one that costs most first."""
    shared = [key for key in before.keys if key in after.keys]
    found = []
    for cause in CAUSES.values():
        tally = PairTally()
        new = []
        for key in shared:
            category, entry_id, _ = key
            was, now = before.keys[key] == cause.key, after.keys[key] == cause.key
            tally.add(cluster_of(entry_id, category), was, now, entry_id)
            if now and not before.keys[key]:
                new.append(entry_id)
        first, second = (sum(each.keys[key] == cause.key for key in shared) for each in (before, after))
        if first or second:
            spread = paired_spread({"all": 1.0}, {"all": tally})
            bounds = interval(tally.difference, spread, -1.0, 1.0)
            found.append(Change(cause, first, second, tally.difference, bounds, tuple(dict.fromkeys(new))))
    return sorted(found, key=lambda change: -change.points)


def change_lines(before: Diagnosis, after: Diagnosis) -> Iterator[str]:
    """Why a score fell or rose, for a terminal: the answer first."""
    shared = sum(key in after.keys for key in before.keys)
    rows = changes(before, after)
    if not shared:
        yield "no entry was judged in both"
        return
    yield answer(before, after)
    for change in rows:
        low, high = change.interval95
        mark = "" if change.beyond_chance else "  (may be chance)"
        yield (
            f"{change.before:5} → {change.after:<5} {change.cause.title}: {-100 * change.points:+.2f} points "
            f"({-100 * high:+.2f} to {-100 * low:+.2f}){mark}"
        )
        if change.new and change.beyond_chance and change.points > 0:
            yield f"        new: {clean(', '.join(change.new[:EXAMPLES]))}"
    worst = next((change for change in rows if change.beyond_chance and change.points > 0), None)
    if worst is not None:
        yield f"next, {worst.cause.title}: {clean(after.command(worst.cause))}"


def answer(before: Diagnosis, after: Diagnosis) -> str:
    """One sentence: by how much the score changed, and what that is made of."""
    shared = [key for key in before.keys if key in after.keys]
    moved = sum((not after.keys[key]) - (not before.keys[key]) for key in shared)
    points = 100 * moved / len(shared)
    word = "fell" if points < 0 else "rose" if points > 0 else "stayed the same"
    rows = [change for change in changes(before, after) if change.beyond_chance and change.points * points < 0]
    rows.sort(key=lambda change: -abs(change.points))
    made_of = ", ".join(f"{change.cause.title} {-100 * change.points:+.1f}" for change in rows[:3])
    told = f"The score {word} by {abs(points):.1f} points over {len(shared)} entries" if points else f"The score {word}"
    return f"{told}: {made_of}." if made_of else f"{told}; no cause stands out beyond chance."


def mean(values: Iterable[float]) -> str:
    """The mean of the known values; "–" without any."""
    known = [value for value in values if value > 0]
    return f"{sum(known) / len(known):,.{0 if sum(known) / len(known) > 20 else 1}f}" if known else "–"


def _trial(line: Fields) -> tuple[str, str, int]:
    return str(line.get("category")), str(line.get("id")), int(line.get("repeat") or 1)


def _case(line: Fields, key: tuple[str, str, int], *, told: bool) -> Case:
    category, entry_id, repeat = key
    sentence = (headline(line) or str(line.get("reason"))) if told else ""
    return Case(entry_id, category, repeat, sentence, _total(line.get("output_tokens")), _total(line.get("latency_s")))


def _total(value: object) -> float:
    return float(sum(each for each in leaves(value) if isinstance(each, int | float) and not isinstance(each, bool)))


def _in_steps(line: Mapping[str, object]) -> bool:
    return str(line.get("category")).startswith(("multi_turn", "memory", "web_search"))
