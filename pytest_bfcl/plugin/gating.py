"""The gates of a session: what its options ask for, its data and run; `pytest_bfcl.scoring.gating` decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from pytest_bfcl.failures import UsageError

if TYPE_CHECKING:
    from pytest_bfcl.plugin.expectations import Expectations
    from pytest_bfcl.plugin.recording import Recording
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.runs import RunDirectory, Summary
    from pytest_bfcl.runs.summary_types import GateSummary

JUDGED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


class SessionGates:
    """The gate options of a session: thresholds, a baseline, expected failures, the errors allowed."""

    def __init__(self, session: Session, recording: Recording, expectations: Expectations) -> None:
        from pytest_bfcl.scoring.gating import GateOptions, Gates

        self._session = session
        plan, settings = session.plan, session.settings
        options = GateOptions(
            fail_under=plan.fail_under,
            baseline=plan.baseline,
            baseline_margin=plan.baseline_margin,
            noninferior=plan.noninferior,
            expected=plan.expected,
            allow_missing=plan.allow_missing,
        )
        self._gates = Gates(
            options, rules=settings.rules, max_errors_pct=settings.max_errors_pct, expectations=expectations
        )
        if options.knows_data:
            models = [spec.text for spec in session.specs]
            directory = session.config.invocation_params.dir
            self._gates.check_conditions(recording.fingerprint(), session.data.dataset, models, directory)
        if self._data_is_guessed():
            self._gates.refuse_guessed_data()

    @property
    def asked(self) -> bool:
        """Whether any gate is set."""
        return self._gates.asked

    def refuse_unreachable(self, nodeids: Iterable[str], earlier: Iterable[str]) -> None:
        """Stop before the first request when what was selected cannot meet a threshold, whatever the answers.

        ``nodeids`` will be run, the entry ids ``earlier`` have been in an earlier part. Raises `pytest.UsageError`.
        """
        if not self._gates.thresholds:
            return
        data = self._session.data.dataset
        selected = {name for name in map(self._session.data.category_at, nodeids) if name is not None}
        selected |= {ref.category for ref in map(data.find, earlier) if ref is not None}
        try:
            self._gates.refuse_unreachable(selected, data)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None

    def _data_is_guessed(self) -> bool:
        """Whether nothing but ``auto`` says which data this is."""
        if self._session.plan.data != "auto":
            return False
        named = any(argument.partition("::")[0].endswith(".jsonl") for argument in self._session.config.args)
        return bool(self._session.data.arguments) or not named

    def evaluate(self, summary: Summary, run: RunDirectory) -> GateSummary:
        """Every check over the finished run, as it stands in ``summary.json``."""
        from pytest_bfcl.scoring import measurement_of_run

        return self._gates.evaluate(summary, run.records(), measurement_of_run(run))
