"""One verdict over a finished run: thresholds per group, a baseline, the share of errors (docs/contracts.md)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.failures import UsageError, instead_of
from pytest_bfcl.runs.summary_types import CheckSummary, GateSummary, Interval, ModelSummary, Summary
from pytest_bfcl.scoring.aggregate import FORMULAS
from pytest_bfcl.scoring.gate_scope import OVERALL, Extent, half_width, members_of, one_entry, smallest_loss
from pytest_bfcl.scoring.summary import dataset_name, is_rerun, repeats

if TYPE_CHECKING:
    from pytest_bfcl.scoring.comparison import Comparison

PLAIN = "entries"
"""The share of passed entries, each counted once; in one group as ``entries:GROUP``."""
SHOWN = 6
"""Names shown in a message."""
NOT_OFFICIAL = "not the official data: these scores are not BFCL scores; ask for all=… or a group"


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold: the named group's accuracy must reach ``percent``; ``plain``: the share of its passed entries."""

    group: str
    percent: float
    plain: bool = False

    def __str__(self) -> str:
        return f"{self.name}={self.percent:g}"

    @property
    def name(self) -> str:
        """The group in its written form."""
        if not self.plain:
            return self.group
        return f"{PLAIN}:{self.group}" if self.group else PLAIN

    @property
    def members(self) -> list[str]:
        """The categories of the group."""
        return members_of(self.group)


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One checked condition. ``value`` and ``limit`` in percent, ``why`` a sentence for users. ``entries``: the ones to
    read first, as ``id: before → after``.
    """

    name: str
    model: str
    ok: bool
    why: str
    value: float | None = None
    limit: float | None = None
    entries: tuple[str, ...] = ()


def gate_summary(checks: Iterable[GateCheck], notes: Iterable[str] = ()) -> GateSummary:
    """The verdict over these checks, as in ``summary.json``; ``notes``: differences from the runs compared with."""
    listed = [cast("CheckSummary", {**asdict(check), "entries": list(check.entries)}) for check in checks]
    if not listed:
        return {"verdict": "none", "checks": []}
    found: GateSummary = {"verdict": "passed" if all(each["ok"] for each in listed) else "failed", "checks": listed}
    return {**found, "notes": told} if (told := list(dict.fromkeys(notes))) else found


def parse_gate(text: str) -> Gate:
    """``GROUP=PCT`` as a gate. Raises `UsageError` for unknown groups and invalid percentages."""
    name, equals, number = text.partition("=")
    name, number = name.strip(), number.strip().removesuffix("%").strip()
    if not equals:
        raise UsageError(f"--bfcl-fail-under {text!r}: write GROUP=PCT, for instance overall=60 or multi_turn=45.5")
    head, colon, rest = name.partition(":")
    plain = head == PLAIN
    group = rest if plain else name
    known = [*FORMULAS, *GROUPS, *CATEGORIES] if plain else [*OVERALL, PLAIN, *FORMULAS, *GROUPS, *CATEGORIES]
    if group not in known and (colon or not plain):
        raise UsageError(f"--bfcl-fail-under {text!r}: unknown group {group!r}; {instead_of(group, known)}")
    try:
        percent = float(number)
    except ValueError:
        percent = math.nan
    if "=" in number:
        raise UsageError(f"--bfcl-fail-under {text!r}: one GROUP=PCT a time; write the option once for each")
    if not 0 <= percent <= 100:
        raise UsageError(f"--bfcl-fail-under {text!r}: {number!r} is not a percentage between 0 and 100")
    if percent == 0:
        raise UsageError(f"--bfcl-fail-under {text!r}: every run reaches 0 %; name what must be reached")
    if percent < 1:
        raise UsageError(
            f"--bfcl-fail-under {text!r}: {number} would be less than one percent; write {name}={100 * percent:g} "
            f"for {100 * percent:g} %"
        )
    return Gate(group, percent, plain)


def unreachable(
    gates: Iterable[Gate],
    selected: Collection[str],
    *,
    official: bool,
    full: Collection[str] = (),
    allow_missing: bool,
    skipped: Mapping[str, str] | None = None,
) -> list[str]:
    """Why gates cannot be met by any answers, a sentence each; known before the first request. ``selected`` are the
    categories of the whole run, ``full`` those of a data set that is not official. ``skipped`` are selected ones that
    cannot be measured, with the reason.
    """
    skipped = skipped or {}
    measurable = [name for name in selected if name not in skipped]
    told = []
    for gate in gates:
        needed = _needed(gate, official, full, selected)
        lacking = [name for name in needed if name not in measurable]
        if gate.group in OVERALL and not official:
            told.append(f"{gate}: {NOT_OFFICIAL}")
        elif lacking:
            why = f"{gate}: {_lacking(lacking, skipped)}"
            if gate.group in OVERALL:
                told.append(f"{why}; a part claims no overall; ask for a group or {PLAIN}=…")
            elif len(lacking) == len(needed):
                told.append(f"{why}, so nothing of it would be measured")
            elif not allow_missing:
                told.append(f"{why} (--bfcl-allow-missing accepts that)")
    return told


def _needed(gate: Gate, official: bool, full: Collection[str], selected: Collection[str]) -> list[str]:
    """The categories without which a gate's value is incomplete or missing."""
    needed = gate.members
    if not gate.group:  # over whatever is asked
        return [name for name in needed if name in selected] or [PLAIN]
    if gate.group in OVERALL or official:
        return needed
    return [name for name in needed if name in full] or needed


def _lacking(names: Sequence[str], skipped: Mapping[str, str]) -> str:
    reasons = [f"{name} will be skipped ({skipped[name]})" for name in names if name in skipped]
    others = [name for name in names if name not in skipped]
    return "; ".join([*([f"not selected: {_listed(others)}"] if others else []), *reasons[:2]])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def gate_checks(
    summary: Summary,
    gates: Sequence[Gate] = (),
    *,
    comparisons: Sequence[Comparison] = (),
    margin_pct: float = 0.0,
    max_errors_pct: float = 2.0,
    min_entries: int | None = None,
    allow_missing: bool = False,
    full: Mapping[str, int] | None = None,
) -> Iterator[GateCheck]:
    """The checks of a run's summary: too many errors, fewer entries than ``min_entries`` (or than a group has), the
    gates, and ``comparisons``, one per model against the baseline.

    ``margin_pct``: accepted regressions in percentage points. ``full``: entries of the full set by category; by default
    those that ran.
    """
    for model, numbers in summary["models"].items():
        extent = Extent(numbers, full or {}, repeats(summary["fingerprint"]))
        official, rerun = dataset_name(summary["fingerprint"]) == "official", is_rerun(summary["fingerprint"])
        judge = _Thresholds(model, numbers, extent, official, rerun, allow_missing, min_entries or 0)
        yield _errors(model, numbers, extent, max_errors_pct)
        if min_entries:
            yield judge.enough()
        yield from map(judge.check, gates)
    if not summary["models"]:
        yield GateCheck("results", "", False, "there are no results")
    for comparison in comparisons:
        compared = extent_of(summary, comparison.after, full)
        yield from regressions(comparison, margin_pct, allow_missing=allow_missing, extent=compared)


def extent_of(summary: Summary, model: str, full: Mapping[str, int] | None = None) -> Extent | None:
    """The progress of a model's run; ``None`` if it is not in the summary."""
    numbers = summary["models"].get(model)
    return None if numbers is None else Extent(numbers, full or {}, repeats(summary["fingerprint"]))


def _errors(model: str, numbers: ModelSummary, extent: Extent, max_errors_pct: float) -> GateCheck:
    categories = numbers["categories"].values()
    errors = sum(found["errors"] for found in categories)
    attempted = sum(found["total"] - found["skipped"] for found in categories)
    if not attempted:
        return GateCheck("errors", model, False, "nothing was measured: every entry was skipped", None, max_errors_pct)
    share = 100 * errors / attempted
    scope = extent.scope(extent.names, attempted)
    why = f"{errors} of {attempted} entries ended in an error ({share:.1f} %, allowed {max_errors_pct:g} %)"
    why += scope.text(one_entry(scope))
    return GateCheck("errors", model, share <= max_errors_pct, why, share, max_errors_pct)


@dataclass(frozen=True, slots=True)
class _Thresholds:
    """The thresholds of one model."""

    model: str
    numbers: ModelSummary
    extent: Extent
    official: bool
    rerun: bool
    allow_missing: bool
    min_entries: int

    def enough(self) -> GateCheck:
        """Whether enough entries were measured."""
        names = self.extent.names
        found, scope = self.extent.entries(names), self.extent.scope(names)
        why = f"{found:,} entries were measured, at least {self.min_entries:,} asked for{scope.text(one_entry(scope))}"
        return GateCheck("min-entries", self.model, found >= self.min_entries, why, found, self.min_entries)

    def check(self, gate: Gate) -> GateCheck:
        """One threshold: met, or missed with a reason."""
        value, interval, missing, note = self._value(gate)
        scope = self.extent.scope(gate.members)
        why = self._refusal(gate, value, missing, note)
        if why:
            return GateCheck(str(gate), self.model, False, f"{gate.name}: {why}{scope.text(None)}", None, gate.percent)
        assert value is not None
        percent = 100 * value
        # A value that equals the limit but for the last bits of the division meets it.
        ok = percent >= gate.percent - 1e-9
        distance = _by(percent - gate.percent, ok)
        why = f"{gate.name} is {percent:.2f} %, at least {gate.percent:g} % asked for: {distance}"
        if missing:
            why += f" (without {_listed(missing)})"
        why += scope.text(100 * half_width(value, interval))
        return GateCheck(str(gate), self.model, ok, why, percent, gate.percent)

    def _refusal(self, gate: Gate, value: float | None, missing: Sequence[str], note: str) -> str:
        """Why a value does not count or is missing; else empty."""
        if gate.group in OVERALL and not self.official:
            return NOT_OFFICIAL
        if self.rerun:
            return "only entries that had failed were asked again (--lf), which measures nothing"
        if missing and not self.allow_missing:
            return f"not run: {_listed(missing)} (--bfcl-allow-missing accepts that)"
        if value is None and gate.group in OVERALL:
            return f"not claimed: {note}"
        if value is None:
            return f"nothing was measured: {note or 'not run'}"
        asked = min(self.min_entries, self.extent.answerable(gate.members))
        if (found := self.extent.entries(gate.members)) < asked:
            return f"{found:,} entries were measured, at least {asked:,} asked for"
        return ""

    def _value(self, gate: Gate) -> tuple[float | None, Interval, list[str], str]:
        """A gate's value as a fraction, its interval, its missing categories, and why there is no value."""
        group, numbers = gate.group, self.numbers
        if gate.plain:
            return self._plain(gate)
        if group in OVERALL:
            found = numbers["overall"] if group == "overall" else numbers["overall_v3"]
            return found["value"], found["interval95"], list(found["missing"]), str(found.get("why", ""))
        if group in CATEGORIES and group not in GROUPS:
            category = numbers["categories"].get(group)
            accuracy = category["accuracy"] if category else None
            missing = [] if accuracy is not None else [group]
            return accuracy, category["interval95"] if category else None, missing, ""
        pooled = numbers["groups"].get(group)
        if pooled is None:
            return None, None, list(GROUPS.get(group, (group,))), ""
        return pooled["accuracy"], pooled["interval95"], list(pooled["missing"]), ""

    def _plain(self, gate: Gate) -> tuple[float | None, Interval, list[str], str]:
        here, members = self.numbers["categories"], gate.members
        pooled = self.numbers["groups"].get(gate.group) if members != [gate.group] else None
        skipped = [name for name in members if name in here and here[name]["accuracy"] is None]
        missing = list(pooled["missing"]) if pooled is not None else skipped
        found = self.extent.plain_share(members)
        if found is None:
            return None, None, missing or members, ""
        value, loss = found
        return value, (value - loss, value + loss), missing, ""


def _by(difference: float, ok: bool) -> str:
    """The distance from the limit, with enough digits that a miss is not 0.00."""
    text = f"{abs(difference):.2f}"
    if not ok and float(text) == 0:
        text = f"{abs(difference):.2g}"
    return f"{'met' if ok else 'missed'} by {text} points"


def regressions(
    comparison: Comparison, margin_pct: float = 0.0, *, allow_missing: bool = False, extent: Extent | None = None
) -> list[GateCheck]:
    """A check per group (and overall): significantly worse than the baseline, beyond the margin.

    A group fails when its loss is larger than ``margin_pct`` points and significant: paired, clustered, at 5 % over all
    groups together (`Comparison.losses`). Categories that the baseline has and this run skipped also fail.
    """
    lost = {row.name for row in comparison.losses(margin_pct / 100)}
    checks = []
    rows = comparison.distinct(comparison.rows[name] for name in comparison.gated)
    for row in rows:
        name = row.name
        percent, (low, high) = 100 * row.difference, (100 * bound for bound in row.interval95)
        why = (
            f"{name}: {percent:+.2f} points against the baseline "
            f"(95 % interval {low:+.2f} to {high:+.2f}, {row.entries} paired entries)"
        )
        if name in lost:
            why += f": {-percent - margin_pct:.2f} points more than the {margin_pct:g} allowed, and not by chance"
        if extent is not None:
            loss = max(smallest_loss(row.difference, row.interval95, len(rows)), margin_pct)
            why += extent.scope(members_of(name), row.entries).text(loss)
        entries = tuple(
            change.text
            for change in comparison.regressed_worst_first
            if name in lost and change.category in row.categories
        )
        ok = name not in lost
        checks.append(GateCheck(f"baseline:{name}", comparison.after, ok, why, percent, -margin_pct, entries))
    if not checks:
        why = "no entry was judged in both this run and the baseline"
        checks.append(GateCheck("baseline", comparison.after, False, why))
    if comparison.skipped:
        why = f"skipped here, judged in the baseline: {', '.join(comparison.skipped)}"
        advice = " (--bfcl-allow-missing accepts that)"
        ok = allow_missing
        checks.append(GateCheck("baseline:skipped", comparison.after, ok, why + ("" if ok else advice)))
    return checks
