"""The gates of a run: what is asked for, checked before the run where possible; one verdict after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.runs.damage import IncompleteError
from pytest_bfcl.scoring.comparison import comparability, compare_measurements, gap_notes, pair_models
from pytest_bfcl.scoring.expectations import Expectations
from pytest_bfcl.scoring.gates import GateCheck, evaluate_gates, parse_gate, unreachable
from pytest_bfcl.scoring.measurements import Measurement, open_measurement
from pytest_bfcl.scoring.noninferiority import Margin, noninferior, parse_margin
from pytest_bfcl.scoring.summary import full_sizes

if TYPE_CHECKING:
    from pytest_bfcl.dataset import DataSet
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.runs import Fingerprint, Summary
    from pytest_bfcl.runs.summary_types import GateSummary
    from pytest_bfcl.scoring.comparison import Comparison

SHOWN = 10
"""Entries listed below a missed gate; all of them are in summary.json."""


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What a run has to reach.

    Args:
        fail_under: ``GROUP=PCT``: the accuracy of the group in percent, at least.
        baseline: The run, result lines or official score folder (``PATH#MODEL``) that this one must not be worse than.
        baseline_margin: Loss against it that is accepted, in percentage points.
        noninferior: ``[GROUP=]PTS`` or ``[GROUP=]PCT%``: a larger loss has to be ruled out.
        expected: Content of a file of expected failures (`pytest_bfcl.scoring.expectations.read_expected`).
        allow_missing: Gates on categories that did not run are met, gaps of the baseline are accepted.
    """

    fail_under: Sequence[str] = ()
    baseline: Path | str | None = None
    baseline_margin: float = 0.0
    noninferior: Sequence[str] = ()
    expected: Any = None
    allow_missing: bool = False

    @property
    def knows_data(self) -> bool:
        """Whether a baseline or a file of expected failures says which data is meant."""
        return self.baseline is not None or self.expected is not None


class Gates:
    """Thresholds, a baseline, expected failures, the errors allowed.

    Raises `UsageError` for texts that do not fit; `check_conditions` before the run, `evaluate` after it.
    """

    def __init__(
        self,
        options: GateOptions,
        *,
        rules: str = "official",
        max_errors_pct: float = 2.0,
        expectations: Expectations | None = None,
    ) -> None:
        self.options = options
        self.thresholds = [parse_gate(text) for text in options.fail_under]
        if options.noninferior and not options.baseline:
            raise UsageError("--bfcl-noninferior needs --bfcl-baseline RUN: what the model must not be worse than")
        self.margins = list(map(_margin, options.noninferior))
        self.expectations = expectations or Expectations(options.expected)
        self.baseline: Measurement | None = None
        self._rules = rules
        self._max_errors_pct = max_errors_pct

    @property
    def asked(self) -> bool:
        """Whether any gate is set."""
        return bool(self.thresholds or self.options.baseline or self.expectations.asked)

    # -- before the run ------------------------------------------------------------------------------------------

    def check_conditions(
        self, run: Fingerprint, data: DataSet, models: Sequence[str], directory: Path = Path()
    ) -> None:
        """Refuse a baseline or a file of expected failures that holds for something else, or for other models.

        ``models`` are the specs of this run; the baseline's path counts from ``directory``. Raises `UsageError`.
        """
        if self.options.baseline:
            self.baseline = self._open_baseline(run, data, models, directory)
        self.expectations.check_conditions(run)

    def refuse_guessed_data(self) -> None:
        """Raise `UsageError` where nothing but ``auto`` says which data this is."""
        if self.thresholds and not self.options.knows_data:
            raise UsageError("a gate needs to know its data: add --bfcl-data official, bundled or a path")

    def refuse_unreachable(self, selected: Collection[str], data: DataSet) -> None:
        """Stop before the first request when what was selected cannot meet a threshold, whatever the answers.

        ``selected`` are the categories that will be run, or have been in an earlier part. Raises `UsageError`.
        """
        if not self.thresholds:
            return
        told = unreachable(
            self.thresholds,
            selected,
            official=data.official,
            full=full_sizes(data) or (),
            allow_missing=self.options.allow_missing,
        )
        if told:
            listed = "\n".join(f"  {text}" for text in told[:4])
            raise UsageError(f"--bfcl-fail-under cannot be met, nothing was asked:\n{listed}")

    def _open_baseline(self, run: Fingerprint, data: DataSet, models: Sequence[str], directory: Path) -> Measurement:
        """The baseline; refused when it measured something else, or when its models are others."""
        named = f"--bfcl-baseline {self.options.baseline}"
        try:
            measurement = open_measurement(str(directory / str(self.options.baseline)), data)
            comparability(measurement, Measurement("this run", lambda rules: {}, run))
            gap_notes((measurement,), self.options.allow_missing, allow="--bfcl-allow-missing")
        except IncompleteError as error:
            raise UsageError(f"{named}: {error.message}") from None
        except UsageError as error:
            raise UsageError(
                f"{named}: {str(error).replace('cannot be compared', 'measured something else')}"
            ) from None
        before = list(measurement.models(self._rules))
        if not before or (len(before) != 1 and not pair_models(map(_bare, before), map(_bare, models))):
            raise UsageError(
                f"{named} has {', '.join(before) or 'no results'}, "
                f"this run {', '.join(models)}: no model in common (RUN#MODEL picks one)"
            )
        return measurement

    # -- after the run -------------------------------------------------------------------------------------------

    def evaluate(self, summary: Summary, records: Iterable[Fields], run: Measurement) -> GateSummary:
        """Every check over the finished run, as it stands in ``summary.json``. ``records``: its result lines."""
        further: list[GateCheck] = []
        comparisons: list[Comparison] = []
        try:
            comparisons = self._comparisons(run)
        except UsageError as error:
            further.append(GateCheck("baseline", "", False, str(error)))
        further += [noninferior(found, margin) for found in comparisons for margin in self.margins]
        expected = self.expectations.check(records)
        return evaluate_gates(
            summary,
            self.thresholds,
            comparisons=comparisons,
            further=[*further, *([expected] if expected else [])],
            margin_pct=self.options.baseline_margin,
            max_errors_pct=self._max_errors_pct,
            allow_missing=self.options.allow_missing,
        ).to_dict()

    def _comparisons(self, run: Measurement) -> list[Comparison]:
        """Every model against the same one in the baseline."""
        if self.baseline is None:
            return []
        # Gaps were looked at before the run; what is damaged in its own results was asked again.
        return compare_measurements(self.baseline, run, self._rules, allow_missing=True)


def gate_lines(
    gate: GateSummary, foreign_failures: int = 0, foreign: str = "other tests failed"
) -> Iterator[tuple[str, bool | None]]:
    """The lines about the gates and whether each is good news: every check, what to look at, then the verdict.

    ``foreign_failures`` are no entries' and fail the run though its gates are met; ``foreign`` says what they are.
    """
    checks = gate["checks"]
    models = {check["model"] for check in checks if check["model"]}
    for check in checks:
        model = f"{check['model']}: " if len(models) > 1 and check["model"] else ""
        yield f"gate {'met' if check['ok'] else 'MISSED'}: {model}{check['why']}", check["ok"]
        if not check["ok"]:
            entries = check.get("entries") or []
            yield from ((f"    {entry}", None) for entry in entries[:SHOWN])
            if len(entries) > SHOWN:
                yield f"    … and {len(entries) - SHOWN} more in summary.json", None
    if not checks:
        return
    missed = [check["name"] for check in checks if not check["ok"]]
    if missed:
        yield f"gates: FAILED by {', '.join(dict.fromkeys(missed))}", False
    elif foreign_failures:
        yield f"gates: met, but {foreign_failures} {foreign}", False
    else:
        yield f"gates: PASSED, {len(checks)} of {len(checks)} met", True


def _bare(model: str) -> str:
    return parse_spec(model).base


def _margin(text: str) -> Margin:
    try:
        return parse_margin(text)
    except ValueError as error:
        raise UsageError(f"--bfcl-noninferior: {text!r} does not fit: {error}") from None
