"""Gates: what the options ask for, checked before the run where possible; one verdict and one exit code after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_bfcl.failures import UsageError

if TYPE_CHECKING:
    from pytest_bfcl.plugin.expectations import Expectations
    from pytest_bfcl.plugin.recording import Recording
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.runs import RunDirectory, Summary
    from pytest_bfcl.runs.summary_types import GateSummary
    from pytest_bfcl.scoring import Comparison, GateCheck, Measurement
    from pytest_bfcl.scoring.noninferiority import Margin

JUDGED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
SHOWN = 10
"""Entries listed below a missed gate; all of them are in summary.json."""


class Gates:
    """The gate options of a session: thresholds, a baseline, expected failures, the errors allowed."""

    def __init__(self, session: Session, recording: Recording, expectations: Expectations) -> None:
        from pytest_bfcl.scoring import parse_gate

        self._session = session
        self._expectations = expectations
        self.thresholds = [parse_gate(text) for text in session.plan.fail_under]
        if session.plan.noninferior and not session.plan.baseline:
            raise UsageError("--bfcl-noninferior needs --bfcl-baseline RUN: what the model must not be worse than")
        self.margins = list(map(_margin, session.plan.noninferior))
        self.baseline = self._open_baseline(recording)
        expectations.check_conditions(recording)
        if self.thresholds and self._data_is_guessed():
            raise UsageError("a gate needs to know its data: add --bfcl-data official, bundled or a path")

    @property
    def asked(self) -> bool:
        """Whether any gate is set."""
        return bool(self.thresholds or self.baseline or self._expectations.asked)

    def refuse_unreachable(self, nodeids: Iterable[str], earlier: Iterable[str]) -> None:
        """Stop before the first request when what was selected cannot meet a threshold, whatever the answers.

        ``nodeids`` will be run, the entry ids ``earlier`` have been in an earlier part. Raises `pytest.UsageError`.
        """
        from pytest_bfcl.scoring import unreachable
        from pytest_bfcl.scoring.summary import full_sizes

        if not self.thresholds:
            return
        data = self._session.data.dataset
        selected = {name for name in map(self._session.data.category_at, nodeids) if name is not None}
        selected |= {ref.category for ref in map(data.find, earlier) if ref is not None}
        told = unreachable(
            self.thresholds,
            selected,
            official=data.official,
            full=full_sizes(data) or (),
            allow_missing=self._session.plan.allow_missing,
        )
        if told:
            listed = "\n".join(f"  {text}" for text in told[:4])
            raise pytest.UsageError(f"--bfcl-fail-under cannot be met, nothing was asked:\n{listed}")

    def _data_is_guessed(self) -> bool:
        """Whether nothing but ``auto`` says which data this is."""
        plan = self._session.plan
        if plan.data != "auto" or plan.baseline or self._expectations.asked:
            return False
        named = any(argument.partition("::")[0].endswith(".jsonl") for argument in self._session.config.args)
        return bool(self._session.data.arguments) or not named

    def _open_baseline(self, recording: Recording) -> Measurement | None:
        """The baseline; refused when it measured something else, or when its models are others."""
        from pytest_bfcl.runs.damage import IncompleteError
        from pytest_bfcl.scoring import Measurement, open_measurement
        from pytest_bfcl.scoring.comparison import comparability, gap_notes, pair_models

        session = self._session
        if not session.plan.baseline:
            return None
        try:
            measurement = open_measurement(
                str(session.config.invocation_params.dir / session.plan.baseline), session.data.dataset
            )
            comparability(measurement, Measurement("this run", lambda rules: {}, recording.fingerprint()))
            gap_notes((measurement,), session.plan.allow_missing, allow="--bfcl-allow-missing")
        except IncompleteError as error:
            raise UsageError(f"--bfcl-baseline {session.plan.baseline}: {error.message}") from None
        except UsageError as error:
            said = str(error).replace("cannot be compared", "measured something else")
            raise UsageError(f"--bfcl-baseline {session.plan.baseline}: {said}") from None
        before, now = list(measurement.models(session.settings.rules)), [spec.text for spec in session.specs]
        if not before or (len(before) != 1 and not pair_models(map(_bare, before), map(_bare, now))):
            raise UsageError(
                f"--bfcl-baseline {session.plan.baseline} has {', '.join(before) or 'no results'}, "
                f"this run {', '.join(now)}: no model in common (RUN#MODEL picks one)"
            )
        return measurement

    def evaluate(self, summary: Summary, run: RunDirectory) -> GateSummary:
        """Every check over the finished run, as it stands in ``summary.json``."""
        from pytest_bfcl.scoring import GateCheck, evaluate_gates
        from pytest_bfcl.scoring.noninferiority import noninferior

        further: list[GateCheck] = []
        comparisons: list[Comparison] = []
        try:
            comparisons = self._comparisons(run)
        except UsageError as error:
            further.append(GateCheck("baseline", "", False, str(error)))
        further += [noninferior(found, margin) for found in comparisons for margin in self.margins]
        expected = self._expectations.check(run.records())
        return evaluate_gates(
            summary,
            self.thresholds,
            comparisons=comparisons,
            further=[*further, *([expected] if expected else [])],
            margin_pct=self._session.plan.baseline_margin,
            max_errors_pct=self._session.settings.max_errors_pct,
            allow_missing=self._session.plan.allow_missing,
        ).to_dict()

    def _comparisons(self, run: RunDirectory) -> list[Comparison]:
        """Every model against the same one in the baseline."""
        from pytest_bfcl.scoring import compare_measurements, measurement_of_run

        if self.baseline is None:
            return []
        # Gaps were looked at before the run; what is damaged in its own results was asked again.
        return compare_measurements(
            self.baseline, measurement_of_run(run), self._session.settings.rules, allow_missing=True
        )


def _bare(model: str) -> str:
    from pytest_bfcl.models import parse_spec

    return parse_spec(model).base


def gate_lines(gate: GateSummary, foreign_failures: int) -> Iterator[tuple[str, bool | None]]:
    """The lines about the gates and whether each is good news: every check, what to look at, then the verdict."""
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
        yield f"gates: met, but {foreign_failures} other tests failed", False
    else:
        yield f"gates: PASSED, {len(checks)} of {len(checks)} met", True


def _margin(text: str) -> Margin:
    from pytest_bfcl.scoring.noninferiority import parse_margin

    try:
        return parse_margin(text)
    except ValueError as error:
        raise UsageError(f"--bfcl-noninferior: {text!r} does not fit: {error}") from None
