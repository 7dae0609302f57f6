"""Two models, entry by entry: what improved, what regressed, and whether chance explains it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.runs.comparability import ENTRIES, Comparability, Purpose, comparability
from pytest_bfcl.runs.lines import ALLOW, IncompleteError
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import Term
from pytest_bfcl.scoring.comparison_rows import (
    Change,
    Row,
    changes_of,
    pair_tallies,
    paired_row,
    pairs_of,
    row_name,
    rows_apart,
)
from pytest_bfcl.scoring.measurements import Judged, Key, Measurement
from pytest_bfcl.scoring.statistics import PairTally, holm

SIGNIFICANT = 0.05


@dataclass(slots=True)
class Comparison:
    """The paired entries of two models, ``before`` and ``after``, and the place of each run.

    ``rows``: ``overall`` (when complete), groups, then categories. ``gated`` names the rows of a baseline gate.
    ``improved`` and ``regressed`` are entries, with repeats by their right answers; rows and ``tags`` count pairs.
    ``tags`` counts (tag before, tag after), with ``passed`` for no tag. ``only_before`` and ``only_after`` are entries
    judged in one run only; ``skipped`` are categories judged before and skipped after; ``notes`` say what is not
    comparable. ``apart``: if no entry was judged in both, the rows of two samples with unpaired intervals, which no
    gate uses.
    """

    before: str
    after: str
    before_run: str = ""
    after_run: str = ""
    rows: dict[str, Row] = field(default_factory=dict)
    gated: tuple[str, ...] = ()
    apart: dict[str, Row] = field(default_factory=dict)
    improved: list[Change] = field(default_factory=list)
    regressed: list[Change] = field(default_factory=list)
    unchanged: int = 0
    tags: Counter[tuple[str, str]] = field(default_factory=Counter)
    only_before: int = 0
    only_after: int = 0
    skipped: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def worst(self) -> list[Row]:
        """Categories that got worse, the largest loss first."""
        lost = [row for row in self.rows.values() if row.name in CATEGORIES and row.difference < 0]
        return sorted(lost, key=lambda row: (row.difference, row.name))

    def losses(self, margin: float = 0.0) -> list[Row]:
        """Gated rows with a significant loss of more than ``margin`` (a fraction), the largest loss first. Significant
        means 5 % for all gated rows together (Holm); equal rows count once.
        """
        rows = self.distinct([self.rows[name] for name in self.gated])
        adjusted = holm({row.name: row.chance for row in rows})
        lost = [row for row in rows if row.difference < -margin and adjusted[row.name] < SIGNIFICANT]
        return sorted(lost, key=lambda row: (row.difference, row.name))

    @staticmethod
    def distinct(rows: Iterable[Row]) -> list[Row]:
        """Rows without repetitions of an earlier one: a group of one category, all of a run of one group."""
        found: dict[tuple[tuple[str, ...], float], Row] = {}
        for row in rows:
            found.setdefault((row.categories, round(row.difference, 12)), row)
        return list(found.values())

    @property
    def regressed_worst_first(self) -> list[Change]:
        """Entries that regressed, starting with the category that lost most."""
        order = {row.name: position for position, row in enumerate(self.worst)}
        return sorted(self.regressed, key=lambda change: order.get(change.category, len(order)))

    def to_dict(self) -> Parsed:
        """A JSON-able copy."""
        return {
            "before": self.before,
            "after": self.after,
            "before_run": self.before_run,
            "after_run": self.after_run,
            "rows": {
                row.name: {name: value for name, value in asdict(row).items() if name not in ("name", "categories")}
                for row in (self.rows or self.apart).values()
            },
            "paired": bool(self.rows),
            "improved": [change.to_dict() for change in self.improved],
            "regressed": [change.to_dict() for change in self.regressed],
            "unchanged": self.unchanged,
            "tags": [{"before": a, "after": b, "entries": n} for (a, b), n in sorted(self.tags.items())],
            "only_before": self.only_before,
            "only_after": self.only_after,
            "skipped": list(self.skipped),
            "notes": list(self.notes),
        }


def compare_measurements(
    before: Measurement,
    after: Measurement,
    rules: str = "official",
    *,
    shared: bool = False,
    allow_missing: bool = False,
) -> list[Comparison]:
    """Every pair of models of two measurements, over the entries judged in both.

    Raises `UsageError` if they measured different things (``shared`` compares their common entries, with a note) or
    have no common model. Entries judged in only one of them (another selection, errors) are left out and counted in the
    notes. Raises `IncompleteError` if results have gaps; with ``allow_missing`` the notes name them.
    """
    notes = [*comparison_notes(before, after, shared=shared), *gap_notes((before, after), allow_missing)]
    first, second = before.models(rules), after.models(rules)
    pairs = pair_models(first, second)
    if not pairs:
        raise UsageError(
            f"no model in common: {before.label} has {', '.join(first) or 'no results'}; "
            f"{after.label} has {', '.join(second) or 'no results'} (PATH#MODEL picks one)"
        )
    return [_compared(first[a], second[b], (a, b), before, after, notes) for a, b in pairs]


def gap_notes(measurements: Iterable[Measurement], allow_missing: bool, *, allow: str = ALLOW) -> list[str]:
    """Gaps of the measurements' results, as notes. Raises `IncompleteError` if they are not allowed."""
    gaps = [gap for measurement in measurements for gap in measurement.gaps()]
    if gaps and not allow_missing:
        raise IncompleteError(gaps, allow=allow)
    return gaps


def compare_models(
    measurement: Measurement, rules: str = "official", *, allow_missing: bool = False
) -> list[Comparison]:
    """The models of one measurement: the first against every other, for instance native calls against prompting.

    Raises `UsageError` without any, `IncompleteError` for gaps.
    """
    notes = gap_notes((measurement,), allow_missing)
    models = measurement.models(rules)
    if not models:
        raise UsageError(f"{measurement.label} has no results: nothing can be compared")
    first, *others = models
    sides = (measurement, measurement)
    return [_compared(models[first], models[other], (first, other), *sides, notes) for other in others]


def comparison_notes(before: Measurement, after: Measurement, *, shared: bool = False) -> list[str]:
    """Notes a reader needs before comparing two measurements. Raises `UsageError` if they are not comparable."""
    notes = [
        f"{measurement.label} does not record its data and rules: the comparison assumes that they are the same"
        for measurement in (before, after)
        if measurement.fingerprint is None
    ]
    if before.fingerprint is None or after.fingerprint is None:
        return notes
    # Verdicts under both rule sets are in every line, whichever led the run; entries are compared in pairs.
    led = replace(after.fingerprint, rules=before.fingerprint.rules)
    if led.rules != after.fingerprint.rules:
        notes.append("the runs used different rules; both are compared under the same rules here")
    found = comparability(before.fingerprint, led, Purpose.MODELS, accept={ENTRIES})
    if found.noted:
        notes.append(Comparability((), found.noted).sentence)
    if not found.refused:
        return notes
    names = {before.fingerprint.dataset, after.fingerprint.dataset}
    unrelated = len(names) > 1 and names & {"official", "bundled"}
    if unrelated or not shared:
        advice = "these sets share ids, not questions" if unrelated else "--shared compares the entries both have"
        raise UsageError(
            f"{before.label} and {after.label} cannot be compared ({advice}); they differ in\n{found.listed()}"
        )
    differ = "; ".join(map(str, found.refused))
    return [*notes, f"NOT the same test, only entries of the same id are compared: they differ in {differ}"]


def _compared(
    first: Mapping[Key, Judged],
    second: Mapping[Key, Judged],
    names: tuple[str, str],
    before: Measurement,
    after: Measurement,
    notes: Iterable[str],
) -> Comparison:
    prints = [measurement.fingerprint for measurement in (before, after) if measurement.fingerprint is not None]
    official = all(each.dataset == "official" for each in prints)
    sizes = {name: row.official_size for name, row in CATEGORIES.items()} if official and prints else {}
    comparison = compare(first, second, names=names, sizes=sizes, official=official)
    comparison.before_run, comparison.after_run = before.label, after.label
    comparison.notes += [*notes, *_notes(comparison, before, after)]
    return comparison


def _notes(comparison: Comparison, before: Measurement, after: Measurement) -> list[str]:
    measurements = (before,) if before is after else (before, after)
    notes = [note for measurement in measurements for note in measurement.notes()]
    for count, measurement in ((comparison.only_before, before), (comparison.only_after, after)):
        if count:
            notes.append(f"{count} entries have a verdict only in {measurement.label}; the shared ones are compared")
    for measurement in measurements:
        if measurement.fingerprint is not None and not measurement.fingerprint.comparable:
            notes.append(f"{measurement.label} used its own system prompt: not comparable with published scores")
    return notes


def pair_models(before: Iterable[str], after: Iterable[str]) -> list[tuple[str, str]]:
    """The pairs of models of two runs: equal specs; two single models are always a pair."""
    first, second = list(before), list(after)
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    return [(name, name) for name in second if name in first]


def compare(
    before: Mapping[Key, Judged],
    after: Mapping[Key, Judged],
    *,
    names: tuple[str, str] = ("before", "after"),
    sizes: Mapping[str, int] | None = None,
    official: bool = False,
) -> Comparison:
    """Compare two models' verdicts over the entries judged in both (errors and skipped entries are not verdicts).

    ``sizes``: entries of the full data set per category, the weights of live categories. ``official`` allows an
    ``overall`` row (if every category of it has pairs).
    """
    result = Comparison(*names)
    pairs = pairs_of(before, after)
    tallies = pair_tallies(pairs)
    result.tags.update((_tag(old), _tag(new)) for old, new, _ in pairs)
    first, second = ([each for each in side.values() if each.is_verdict] for side in (before, after))
    result.only_before, result.only_after = len(first) - len(pairs), len(second) - len(pairs)
    was = {old.category for old in first}
    here = {new.category for new in after.values() if new.outcome == "skipped"}
    result.skipped = tuple(name for name in CATEGORIES if name in was & here and name not in tallies)
    changes, result.unchanged = changes_of(pairs)
    result.improved = [change for change in changes if change.improved]
    result.regressed = [change for change in changes if not change.improved]
    _add_rows(result, tallies, dict(sizes or {}), official)
    if not tallies:
        result.apart = {row.name: row for row in rows_apart(before, after, dict(sizes or {}))}
    return result


def _tag(judged: Judged) -> str:
    return "passed" if judged.passed else judged.tag or "failed"


def _add_rows(result: Comparison, tallies: Mapping[str, PairTally], sizes: Mapping[str, int], official: bool) -> None:
    terms: list[tuple[str, Term]] = []
    if official and not aggregate.missing(aggregate.OVERALL, tallies):
        terms.append(("overall", aggregate.OVERALL))
    terms += [(row_name(name), aggregate.formula(name)) for name in (*aggregate.FORMULAS, "single_turn", "all")]
    terms += [(name, name) for name in CATEGORIES if name in tallies]
    for name, term in terms:
        row = paired_row(name, term, tallies, sizes)
        if row is not None:
            result.rows[name] = row
    gated = ("overall", *map(row_name, aggregate.FORMULAS), "all")
    result.gated = tuple(name for name in gated if name in result.rows)
