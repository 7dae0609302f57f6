"""Two runs, entry by entry: what improved, what regressed, and whether that could be chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS, groups_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import Term
from pytest_bfcl.scoring.statistics import PairTally, cluster_of, interval, mcnemar, paired_spread

if TYPE_CHECKING:
    from pytest_bfcl.runs import RunDirectory

VERDICTS = ("passed", "failed")


@dataclass(frozen=True, slots=True)
class Row:
    """One category, group or the overall value compared; differences and accuracies are fractions, after minus before.

    ``p_value`` is McNemar's exact test over the paired entries, ``interval95`` the clustered interval of the
    difference.
    """

    name: str
    entries: int
    before: float
    after: float
    difference: float
    interval95: tuple[float, float]
    improved: int
    regressed: int
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether the interval of the difference excludes zero."""
        return self.interval95[0] > 0 or self.interval95[1] < 0


@dataclass(frozen=True, slots=True)
class Change:
    """An entry whose verdict changed; ``before`` and ``after`` are reasons, ``None`` for passed."""

    id: str
    category: str
    before: str | None
    after: str | None


@dataclass(slots=True)
class Comparison:
    """The paired entries of two runs.

    ``rows``: ``overall`` (when complete), groups, then categories. ``gated`` names the rows a baseline gate looks at.
    ``tags`` counts (tag before, tag after), ``passed`` standing for no tag. ``only_before`` and ``only_after`` are
    entries judged in one run only; ``notes`` say what is not comparable.
    """

    before: str
    after: str
    rows: dict[str, Row] = field(default_factory=dict)
    gated: tuple[str, ...] = ()
    improved: list[Change] = field(default_factory=list)
    regressed: list[Change] = field(default_factory=list)
    unchanged: int = 0
    tags: Counter[tuple[str, str]] = field(default_factory=Counter)
    only_before: int = 0
    only_after: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def worst(self) -> list[Row]:
        """Categories that got worse, the largest loss first."""
        lost = [row for row in self.rows.values() if row.name in CATEGORIES and row.difference < 0]
        return sorted(lost, key=lambda row: (row.difference, row.name))

    @property
    def regression(self) -> bool:
        """Whether any gated row is significantly worse."""
        return any(self.rows[name].interval95[1] < 0 for name in self.gated)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able copy."""
        return {
            "before": self.before,
            "after": self.after,
            "rows": {
                row.name: {
                    "entries": row.entries,
                    "before": row.before,
                    "after": row.after,
                    "difference": row.difference,
                    "interval95": list(row.interval95),
                    "improved": row.improved,
                    "regressed": row.regressed,
                    "p_value": row.p_value,
                }
                for row in self.rows.values()
            },
            "improved": [_change(change) for change in self.improved],
            "regressed": [_change(change) for change in self.regressed],
            "unchanged": self.unchanged,
            "tags": [{"before": a, "after": b, "entries": n} for (a, b), n in sorted(self.tags.items())],
            "only_before": self.only_before,
            "only_after": self.only_after,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """What of a result line matters here."""

    id: str
    category: str
    outcome: str
    tag: str | None
    reason: str | None

    @classmethod
    def of(cls, record: Mapping[str, Any], rules: str = "official") -> Judged:
        """From a result line; under ``corrected`` rules the tag is not kept apart from the headline's."""
        outcome, reason = record.get("outcome"), record.get("reason")
        if rules == "corrected":
            outcome, reason = record.get("corrected_outcome"), record.get("corrected_reason")
        elif "official_outcome" in record:
            outcome, reason = record["official_outcome"], record.get("official_reason")
        return cls(str(record["id"]), str(record.get("category")), str(outcome), record.get("tag"), reason)


def by_model(records: Iterable[Mapping[str, Any]], rules: str = "official") -> dict[str, dict[tuple[str, int], Judged]]:
    """Model → (entry id, repeat) → verdict; memory write stages are left out."""
    models: dict[str, dict[tuple[str, int], Judged]] = {}
    for record in records:
        row = CATEGORIES.get(str(record.get("category")))
        if row is None or row.group != "memory_prereq":
            key = (str(record["id"]), int(record.get("repeat") or 1))
            models.setdefault(str(record.get("model") or ""), {})[key] = Judged.of(record, rules)
    return models


def compare_runs(before: RunDirectory, after: RunDirectory, rules: str = "official") -> list[Comparison]:
    """Every pair of models of two runs, over the entries judged in both.

    Raises `UsageError` when the runs used different data, rules or conditions, or have no model in common. Entries
    in one run only (another selection, errors) are left out and mentioned in the notes.
    """
    differences = before.fingerprint.differences(after.fingerprint, models=False)
    # Verdicts under both rule sets are in every line, whichever led the run.
    differences = [text for text in differences if not text.startswith("rules:")]
    if differences:
        listed = "\n".join(f"  {text}" for text in differences)
        raise UsageError(f"{before.path} and {after.path} cannot be compared: they differ in\n{listed}")
    first, second = by_model(before.records(), rules), by_model(after.records(), rules)
    pairs = pair_models(first, second)
    if not pairs:
        raise UsageError(
            f"no model in common: {before.path} has {', '.join(first) or 'no results'}; "
            f"{after.path} has {', '.join(second) or 'no results'}"
        )
    official = after.fingerprint.dataset == "official"
    sizes = {name: row.official_size for name, row in CATEGORIES.items()} if official else {}
    found = [compare(first[a], second[b], names=(a, b), sizes=sizes, official=official) for a, b in pairs]
    for comparison in found:
        comparison.notes += _notes(comparison, before, after)
    return found


def _notes(comparison: Comparison, before: RunDirectory, after: RunDirectory) -> list[str]:
    notes = []
    for count, path in ((comparison.only_before, before.path), (comparison.only_after, after.path)):
        if count:
            notes.append(f"{count} entries have a verdict only in {path}; the shared ones are compared")
    for run in (before, after):
        if not run.fingerprint.comparable:
            notes.append(f"{run.path} used its own system prompt: not comparable with published scores")
        if run.fingerprint.state != "finished":
            notes.append(f"{run.path} is not finished ({run.fingerprint.state})")
    return notes


def pair_models(before: Iterable[str], after: Iterable[str]) -> list[tuple[str, str]]:
    """Which model of one run is set against which of the other: equal specs; two single models are always a pair."""
    first, second = list(before), list(after)
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    return [(name, name) for name in second if name in first]


def compare(
    before: Mapping[tuple[str, int], Judged],
    after: Mapping[tuple[str, int], Judged],
    *,
    names: tuple[str, str] = ("before", "after"),
    sizes: Mapping[str, int] | None = None,
    official: bool = False,
    notes: Iterable[str] = (),
) -> Comparison:
    """Compare two models' verdicts over the entries judged in both (errors and skipped entries are not verdicts).

    ``sizes``: entries of the full data set per category, the weights of live categories. ``official`` allows an
    ``overall`` row (when every category it needs has pairs).
    """
    result = Comparison(*names, notes=list(notes))
    tallies: dict[str, PairTally] = {}
    accuracy: dict[str, list[int]] = {}
    for key, new in after.items():
        old = before.get(key)
        if old is None or old.outcome not in VERDICTS:
            result.only_after += new.outcome in VERDICTS
        elif new.outcome not in VERDICTS:
            result.only_before += 1
        else:
            _add_pair(result, old, new)
            passed = (old.outcome == "passed", new.outcome == "passed")
            tallies.setdefault(new.category, PairTally()).add(cluster_of(new.id, new.category), *passed)
            count = accuracy.setdefault(new.category, [0, 0])
            count[0] += passed[0]
            count[1] += passed[1]
    result.only_before += sum(1 for key, old in before.items() if key not in after and old.outcome in VERDICTS)
    _add_rows(result, tallies, accuracy, dict(sizes or {}), official)
    return result


def _add_pair(result: Comparison, old: Judged, new: Judged) -> None:
    result.tags[(_tag(old), _tag(new))] += 1
    if old.outcome == new.outcome:
        result.unchanged += 1
        return
    change = Change(new.id, new.category, _reason(old), _reason(new))
    (result.improved if new.outcome == "passed" else result.regressed).append(change)


def _tag(judged: Judged) -> str:
    return "passed" if judged.outcome == "passed" else judged.tag or "failed"


def _reason(judged: Judged) -> str | None:
    return None if judged.outcome == "passed" else judged.reason


def _add_rows(
    result: Comparison,
    tallies: Mapping[str, PairTally],
    passed: Mapping[str, list[int]],
    sizes: Mapping[str, int],
    official: bool,
) -> None:
    terms: list[tuple[str, Term]] = []
    if official and not aggregate.missing(aggregate.OVERALL, tallies):
        terms.append(("overall", aggregate.OVERALL))
    groups = [*aggregate.FORMULAS, *(name for name in ("single_turn", "all") if name in GROUPS)]
    terms += [(name, aggregate.formula(name)) for name in groups]
    terms += [(name, name) for name in CATEGORIES if name in tallies]
    for name, term in terms:
        row = _row(name, term, tallies, passed, sizes)
        if row is not None:
            result.rows[name] = row
    gated = ("overall", *aggregate.FORMULAS, "all")
    result.gated = tuple(name for name in gated if name in result.rows)


def _row(
    name: str,
    term: Term,
    tallies: Mapping[str, PairTally],
    passed: Mapping[str, list[int]],
    sizes: Mapping[str, int],
) -> Row | None:
    parts = [part for part in aggregate.categories_in(term) if part in tallies]
    weights = aggregate.category_weights(term, {part: sizes.get(part) or tallies[part].total for part in parts})
    if not weights:
        return None
    difference = sum(weight * tallies[part].difference for part, weight in weights.items())
    before = sum(weight * passed[part][0] / tallies[part].total for part, weight in weights.items())
    improved = sum(tallies[part].improved for part in weights)
    regressed = sum(tallies[part].regressed for part in weights)
    return Row(
        name=name,
        entries=sum(tallies[part].total for part in weights),
        before=before,
        after=before + difference,
        difference=difference,
        interval95=interval(difference, paired_spread(weights, tallies), -1.0, 1.0),
        improved=improved,
        regressed=regressed,
        p_value=mcnemar(improved, regressed),
    )


def _change(change: Change) -> dict[str, Any]:
    groups = groups_of(change.category)
    return {
        "id": change.id,
        "category": change.category,
        "group": groups[0] if groups else None,
        "before": change.before,
        "after": change.after,
    }
