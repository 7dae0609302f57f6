"""The counters of a summary, record by record: constant memory per entry for conversations of any length."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.expansion import format_configs
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.scoring.conduct import ConductTally, Remarks, ServedTally, conduct_of
from pytest_bfcl.scoring.model_info import Usage
from pytest_bfcl.scoring.statistics import Share, Tally, cluster_of

VERDICTS = ("passed", "failed")


@dataclass(slots=True)
class CategoryTally:
    """One category of one model. ``headline`` follows the run's rules, the others are named after theirs."""

    outcomes: Counter[str] = field(default_factory=Counter)
    headline: Tally = field(default_factory=Tally)
    official: Tally = field(init=False)
    """The same object if the official rules lead in every line."""
    corrected: Share = field(default_factory=Share)
    without_known_issues: Share = field(default_factory=Share)
    verified: Share = field(default_factory=Share)
    known_issues: int = 0
    reviewed: int = 0
    """Records that the verified data judges differently or excludes."""

    def __post_init__(self) -> None:
        self.official = self.headline

    def add(self, record: ResultLine, known_issue: bool) -> str:
        """Count one record; its cluster."""
        if "official_outcome" in record and self.official is self.headline:
            self.official = deepcopy(self.headline)
        outcome = str(record.get("outcome"))
        self.outcomes[outcome] += 1
        entry_id = str(record["id"])
        official = record.get("official_outcome") or outcome
        verified = record.get("verified_outcome")
        self.reviewed += verified is not None
        self.known_issues += known_issue
        for share, verdict in (
            (self.corrected, record.get("corrected_outcome")),
            (self.verified, verified or official),
            (self.without_known_issues, None if known_issue else outcome),
        ):
            if verdict in VERDICTS:
                share.passed += verdict == "passed"
                share.total += 1
        cluster = cluster_of(entry_id, str(record.get("category")))
        if self.official is not self.headline and official in VERDICTS:
            self.official.add(cluster, official == "passed", entry_id)
        if outcome in VERDICTS:
            self.headline.add(cluster, outcome == "passed", entry_id)
        return cluster

    @property
    def total(self) -> int:
        """All records, errors and skipped ones included."""
        return self.outcomes.total()

    @property
    def attempted(self) -> int:
        """Records that are not skipped."""
        return self.total - self.outcomes["skipped"]


CONFIGURATIONS: tuple[str, ...] = tuple(str(config) for config in format_configs())
"""Configuration strings in generation order."""


def configuration_of(entry_id: str) -> str | None:
    """The configuration inside a format-sensitivity id; ``None`` for other ids."""
    parts = entry_id.split(":")
    return parts[1] if len(parts) == 3 else None


@dataclass(slots=True)
class FormatScores:
    """Passed and total per configuration, in order of first appearance.

    Spreads are in percentage points, rounded to two decimals; 0.0 with fewer than two configurations.
    """

    counts: dict[str, Share] = field(default_factory=dict)

    def add(self, configuration: str, passed: bool) -> None:
        """Count one entry."""
        self.counts.setdefault(configuration, Share()).add(passed)

    def accuracy(self, configuration: str) -> float | None:
        """Accuracy under one configuration; ``None`` without entries."""
        return self.counts.get(configuration, Share()).accuracy

    @property
    def max_delta(self) -> float:
        """Best minus worst configuration."""
        found = self._accuracies
        return round((max(found) - min(found)) * 100, 2)

    @property
    def deviation(self) -> float:
        """Sample standard deviation over configurations."""
        return round(statistics.stdev(self._accuracies) * 100, 2)

    @property
    def variance(self) -> float:
        """Sample variance over configurations, in squared percentage points."""
        return round(statistics.variance(self._accuracies) * 10000, 2)

    @property
    def _accuracies(self) -> list[float]:
        """Accuracies of the configurations present; equal ones if nothing can be compared."""
        found = [count.passed / count.total for count in self.counts.values() if count.total]
        return found if len(found) > 1 else [0.0, 0.0]


class TurnTally(Counter[str]):
    """Multi-turn figures beyond the reference (``extra`` of result lines), summed; they enter no score.

    ``right_turns`` counts turns that are right on their own, ``steps`` replies with a call.
    """

    def add(self, extra: Fields) -> None:
        """Count one conversation."""
        credit = extra["turn_credit"]
        of_turns = {name: sum(extra.get(name) or ()) for name in ("steps", "calls", "ground_truth_calls")}
        quiet = ("quiet_turns", "quiet_turns_with_calls", "calls_in_quiet_turns")
        self.update({"entries": 1, "turns": len(credit), "right_turns": sum(credit), **of_turns})
        self.update({name: int(extra.get(name) or 0) for name in quiet})

    def to_dict(self) -> dict[str, int | float | None]:
        """The sums, the share of right turns, and calls made for each call of the ground truth."""
        share = self["right_turns"] / self["turns"] if self["turns"] else None
        ratio = self["calls"] / self["ground_truth_calls"] if self["ground_truth_calls"] else None
        return {"turn_credit": share, "calls_per_ground_truth_call": ratio, **self}


@dataclass(slots=True)
class ModelTally:
    """Everything counted for one model (and mode)."""

    model: str
    mode: str
    known_issues: frozenset[str] = frozenset()
    domains: Mapping[str, str] = field(default_factory=dict)
    """Id of an entry → domain of its functions; only for the official data."""
    categories: dict[str, CategoryTally] = field(default_factory=dict)
    write_stages: CategoryTally = field(default_factory=CategoryTally)
    answered: bool = False
    """Whether any entry got a complete answer: right or wrong, but not cut off, filtered or refused at once."""
    tags: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    lost_calls: Counter[str] = field(default_factory=Counter)
    """Failures whose call is in the text, by its format: the server's parser lost it."""
    endings: Counter[str] = field(default_factory=Counter)
    """Unknown words of endings, by entries with an error because of them."""
    served: ServedTally = field(default_factory=ServedTally)
    corrected_rules: Counter[str] = field(default_factory=Counter)
    breakdown: dict[str, dict[str, Tally]] = field(default_factory=dict)
    hallucination: dict[str, Share] = field(default_factory=dict)
    turns: dict[str, TurnTally] = field(default_factory=dict)
    formats: FormatScores = field(default_factory=FormatScores)
    conduct: ConductTally = field(default_factory=ConductTally)
    usage: Usage = field(default_factory=Usage)
    write_usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    priced: int = 0
    unpriced: int = 0
    unreviewed: set[str] = field(default_factory=set)
    """Ids of judged entries that a program made and no person has read."""
    trained_on: set[str] = field(default_factory=set)
    """Entries that the model was trained on."""
    remarks: Remarks = field(default_factory=Remarks)

    def add(self, record: ResultLine) -> None:
        """Count one result line."""
        if record.get("unreviewed"):
            self.unreviewed.add(str(record["id"]))
        category = str(record.get("category"))
        row = CATEGORIES.get(category)
        self.add_cost(record)
        if row is not None and row.group == "memory_prereq":
            self.write_stages.add(record, False)
            self.write_usage.add(record)
        else:
            known = str(record["id"]) in self.known_issues
            if category not in self.categories:
                self.categories[category] = CategoryTally()
            cluster = self.categories[category].add(record, known)
            if record.get("trained_on"):
                self.trained_on.add(str(record["id"]))
            self.conduct.add(conduct_of(record))
            self.usage.add(record)
            if (row is not None and row.rule == "parallel") or "other_reading" in record:
                self.remarks.add(record, category)
            if record.get("outcome") in VERDICTS:
                self._add_verdict(record, category, cluster)
        self.answered = self.answered or is_answered(record)
        detail = record.get("detail") or {}
        if lost := detail.get("lost_call"):
            self.lost_calls[str(lost)] += 1
        if ending := detail.get("ending"):
            self.endings[str(ending)] += 1
        if record.get("served"):
            self.served.add(record)
        if record.get("outcome") in ("failed", "error"):
            self.tags[str(record.get("tag"))] += 1
            self.reasons[str(record.get("reason"))] += 1
        for name in record.get("corrected_rules") or ():
            self.corrected_rules[str(name)] += 1

    @property
    def entries(self) -> int:
        """Entries that have a verdict."""
        return sum(len(found.headline.entries) for found in self.categories.values())

    @property
    def trained_mark(self) -> str:
        """The warning that the model was trained on the scored entries; empty if unknown."""
        return (
            f"the model was trained on {len(self.trained_on)} of these {self.entries} entries"
            if self.trained_on
            else ""
        )

    def add_cost(self, record: ResultLine) -> None:
        """Count what a line cost."""
        cost = record.get("cost_usd")
        if isinstance(cost, (int, float)):
            self.cost += cost
            self.priced += 1
        elif record.get("outcome") in VERDICTS:
            self.unpriced += 1

    def _add_verdict(self, record: ResultLine, category: str, cluster: str) -> None:
        """Count what a judged line adds beyond its category's score."""
        passed = record["outcome"] == "passed"
        keys = breakdown_keys(record, category)
        if (domain := self.domains.get(str(record["id"]))) is not None:
            keys.append(("domain", domain))
        for kind, name in keys:
            cells = self.breakdown.setdefault(kind, {})
            if name not in cells:
                cells[name] = Tally()
            cells[name].add(f"{category} {cluster}", passed, str(record["id"]))
        if "turn_credit" in (record.get("extra") or {}):
            self.turns.setdefault(category, TurnTally()).add(record["extra"])
        if category == "format_sensitivity":
            self.formats.add(configuration_of(str(record["id"])) or "?", passed)
        if category in _WITH_QUIET_TURNS:
            turns, with_calls = quiet_turns(record, category)
            if turns:
                self.hallucination.setdefault(category, Share()).add(with_calls, turns)


_WITH_QUIET_TURNS = {name for name, row in CATEGORIES.items() if row.checker == "irrelevance"} | {
    "multi_turn_miss_func"
}


def is_answered(record: ResultLine) -> bool:
    """Whether the model gave any answer to an entry."""
    outcome = record.get("outcome")
    return outcome == "passed" or (
        outcome == "failed" and bool(record.get("output") or not str(record.get("reason")).startswith("reply:"))
    )


def breakdown_keys(record: ResultLine, category: str) -> list[tuple[str, str]]:
    """The (kind, name) cells of the breakdown that a record belongs to."""
    row = CATEGORIES.get(category)
    if row is None:
        return []
    extra = record.get("extra") or {}
    keys: list[tuple[str, str]] = []
    if row.checker == "ast" and row.group in ("non_live", "live"):
        keys.append(("language", row.language))
    if row.group == "multi_turn":
        keys += [("api_class", str(name)) for name in extra.get("classes") or ()]
    if row.group == "memory":
        scenario = str(record["id"]).rpartition("_")[2].split("-")
        keys += [("memory_scenario", scenario[1])] if len(scenario) == 3 else []
    if row.group == "web_search" and extra.get("hops") is not None:
        keys.append(("web_hops", str(extra["hops"])))
    return keys


def quiet_turns(record: ResultLine, category: str) -> tuple[int, int]:
    """Turns of a record that expect no call, and how many of them have one. Irrelevance entries are one such turn;
    held-out-function entries give theirs in ``extra`` (``quiet_turns``, ``quiet_turns_with_calls``).
    """
    if CATEGORIES[category].checker == "irrelevance":
        failed = (record.get("official_outcome") or record["outcome"]) == "failed"
        reason = record.get("official_reason") or record.get("reason")
        return 1, int(failed and not str(reason).startswith("reply:"))
    extra = record.get("extra") or {}
    return int(extra.get("quiet_turns") or 0), int(extra.get("quiet_turns_with_calls") or 0)
