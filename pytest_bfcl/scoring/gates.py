"""One verdict over a finished run: thresholds per group, a baseline, the share of errors (docs/contracts.md)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.summary_types import CheckSummary, GateSummary, ModelSummary, Summary
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.aggregate import FORMULAS, Term, categories_in, formula
from pytest_bfcl.scoring.summary import dataset_name
from pytest_bfcl.suggestions import instead_of

if TYPE_CHECKING:
    from pytest_bfcl.scoring.comparison import Comparison

OVERALL = ("overall", "overall_v3")
SCORES: dict[str, Term] = {"overall": aggregate.OVERALL, "overall_v3": aggregate.OVERALL_V3}
NOT_OFFICIAL = "not the official data: these scores are not BFCL scores; ask for all=… or a group"


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold: the named group's accuracy must reach ``percent``."""

    group: str
    percent: float

    def __str__(self) -> str:
        return f"{self.group}={self.percent:g}"


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One thing looked at. ``value`` and ``limit`` in percent, ``why`` a sentence for people.

    ``entries``: those a reader should look at first, as ``id: before → after``.
    """

    name: str
    model: str
    ok: bool
    why: str
    value: float | None = None
    limit: float | None = None
    entries: tuple[str, ...] = ()

    def to_dict(self) -> CheckSummary:
        """As it stands in ``summary.json``."""
        return {
            "name": self.name,
            "model": self.model,
            "ok": self.ok,
            "why": self.why,
            "value": self.value,
            "limit": self.limit,
            "entries": list(self.entries),
        }


@dataclass(frozen=True, slots=True)
class GateResult:
    """All checks of a run. ``verdict``: ``passed``, ``failed``, or ``none`` when nothing was asked for."""

    verdict: str
    checks: tuple[GateCheck, ...] = ()

    @classmethod
    def of(cls, checks: Iterable[GateCheck]) -> GateResult:
        """The verdict over these checks."""
        found = tuple(checks)
        if not found:
            return cls("none")
        return cls("passed" if all(check.ok for check in found) else "failed", found)

    @property
    def failed(self) -> bool:
        """Whether some check was not met."""
        return self.verdict == "failed"

    def to_dict(self) -> GateSummary:
        """As it stands in ``summary.json``."""
        return {"verdict": self.verdict, "checks": [check.to_dict() for check in self.checks]}


def parse_gate(text: str) -> Gate:
    """``GROUP=PCT`` as a gate; `UsageError` for unknown groups and numbers outside 0–100."""
    group, equals, number = text.partition("=")
    group, number = group.strip(), number.strip().removesuffix("%")
    if not equals:
        raise UsageError(f"--bfcl-fail-under {text!r}: write GROUP=PCT, for instance overall=60 or multi_turn=45.5")
    if group not in (*OVERALL, *FORMULAS, *GROUPS, *CATEGORIES):
        known = [*OVERALL, *FORMULAS, *GROUPS, *CATEGORIES]
        raise UsageError(f"--bfcl-fail-under {text!r}: unknown group {group!r}; {instead_of(group, known)}")
    try:
        percent = float(number)
    except ValueError:
        percent = math.nan
    if not 0 <= percent <= 100:
        raise UsageError(f"--bfcl-fail-under {text!r}: {number!r} is not a percentage between 0 and 100")
    return Gate(group, percent)


def unreachable(
    gates: Iterable[Gate], selected: Collection[str], *, official: bool, full: Collection[str] = (), allow_missing: bool
) -> list[str]:
    """Why gates cannot be met whatever the model answers, a sentence each; known before the first request.

    ``selected`` are the categories that will be run or have been, ``full`` those of a data set that is not official.
    """
    told = []
    for gate in gates:
        lacking = [name for name in _needed(gate, official, full) if name not in selected]
        if gate.group in OVERALL and not official:
            told.append(f"{gate}: {NOT_OFFICIAL}")
        elif lacking and not allow_missing:
            told.append(f"{gate}: not selected: {', '.join(lacking)} (--bfcl-allow-missing accepts that)")
    return told


def _needed(gate: Gate, official: bool, full: Collection[str]) -> list[str]:
    """The categories without which a gate's value is missing, or none of it is there."""
    if gate.group in OVERALL:
        return list(dict.fromkeys(categories_in(SCORES[gate.group])))
    if gate.group in CATEGORIES and gate.group not in GROUPS:
        return [gate.group]
    needed = list(dict.fromkeys(categories_in(formula(gate.group))))
    return needed if official or not full else [name for name in needed if name in full] or needed


def evaluate_gates(
    summary: Summary,
    gates: Sequence[Gate] = (),
    *,
    comparisons: Sequence[Comparison] = (),
    further: Sequence[GateCheck] = (),
    margin_pct: float = 0.0,
    max_errors_pct: float = 2.0,
    allow_missing: bool = False,
) -> GateResult:
    """Every check of a run's summary.

    Without gates, comparisons (one per model against the baseline) and ``further`` checks of the caller the result is
    ``none``. With any, too many errors fail as well. ``margin_pct``: regressions up to so many percentage points are
    accepted.
    """
    checks: list[GateCheck] = []
    official = dataset_name(summary["fingerprint"]) == "official"
    if gates or comparisons or further:
        for model, numbers in summary.get("models", {}).items():
            checks.append(_errors(model, numbers, max_errors_pct))
            checks += [_threshold(model, numbers, gate, allow_missing, official) for gate in gates]
        if not summary.get("models"):
            checks.append(GateCheck("results", "", False, "there are no results"))
    for comparison in comparisons:
        checks += regressions(comparison, margin_pct, allow_missing=allow_missing)
    checks += further
    return GateResult.of(checks)


def _errors(model: str, numbers: ModelSummary, max_errors_pct: float) -> GateCheck:
    categories = numbers["categories"].values()
    errors = sum(found["errors"] for found in categories)
    attempted = sum(found["total"] - found["skipped"] for found in categories)
    share = 100 * errors / attempted if attempted else 0.0
    ok = share <= max_errors_pct
    why = f"{errors} of {attempted} entries ended in an error ({share:.1f} %, allowed {max_errors_pct:g} %)"
    return GateCheck("errors", model, ok, why, share, max_errors_pct)


def _threshold(model: str, numbers: ModelSummary, gate: Gate, allow_missing: bool, official: bool) -> GateCheck:
    value, missing, note = _value(numbers, gate.group)
    name = str(gate)
    if gate.group in OVERALL and not official:
        why = f"{gate.group}: {NOT_OFFICIAL}"
        return GateCheck(name, model, False, why, None, gate.percent)
    if missing and not allow_missing:
        why = f"{gate.group}: not run: {', '.join(missing)} (--bfcl-allow-missing accepts that)"
        return GateCheck(name, model, False, why, None, gate.percent)
    if value is None:
        ok = bool(missing) and allow_missing
        return GateCheck(name, model, ok, f"{gate.group}: {note or 'not run'}", None, gate.percent)
    percent = 100 * value
    # A value that equals the limit but for the last bits of the division meets it.
    ok = percent >= gate.percent - 1e-9
    why = f"{gate.group} is {percent:.2f} %, at least {gate.percent:g} % asked for: {_by(percent - gate.percent, ok)}"
    if missing:
        why += f" (without {', '.join(missing)})"
    return GateCheck(name, model, ok, why, percent, gate.percent)


def _by(difference: float, ok: bool) -> str:
    """How far from the limit, with enough digits not to say 0.00 for a miss."""
    text = f"{abs(difference):.2f}"
    if not ok and float(text) == 0:
        text = f"{abs(difference):.2g}"
    return f"{'met' if ok else 'missed'} by {text} points"


def _value(numbers: ModelSummary, group: str) -> tuple[float | None, list[str], str]:
    """A group's value as a fraction, the categories missing from it, and why there is none."""
    if group in OVERALL:
        found = numbers["overall"] if group == "overall" else numbers["overall_v3"]
        return found["value"], list(found["missing"]), str(found.get("why", ""))
    if group in CATEGORIES and group not in GROUPS:
        category = numbers["categories"].get(group)
        accuracy = category["accuracy"] if category else None
        return accuracy, [] if accuracy is not None else [group], ""
    pooled = numbers["groups"].get(group)
    if pooled is None:
        return None, list(GROUPS.get(group, (group,))), ""
    return pooled["accuracy"], list(pooled["missing"]), ""


def regressions(comparison: Comparison, margin_pct: float = 0.0, *, allow_missing: bool = False) -> list[GateCheck]:
    """A check per group (and overall): worse than the baseline beyond the margin, and not by chance.

    A group fails when its loss is larger than ``margin_pct`` points and significant: paired, clustered, at 5 % over all
    groups together (`Comparison.losses`). Categories the baseline has and this run skipped fail, too.
    """
    lost = {row.name for row in comparison.losses(margin_pct / 100)}
    checks = []
    for row in comparison.distinct(comparison.rows[name] for name in comparison.gated):
        name = row.name
        percent, (low, high) = 100 * row.difference, (100 * bound for bound in row.interval95)
        why = (
            f"{name}: {percent:+.2f} points against the baseline "
            f"(95 % interval {low:+.2f} to {high:+.2f}, {row.entries} paired entries)"
        )
        if name in lost:
            why += f": {-percent - margin_pct:.2f} points more than the {margin_pct:g} allowed, and not by chance"
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
