"""The gates of a session: its options, data and run; `pytest_bfcl.scoring.gating` decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plugin.refusals import named_options
from pytest_bfcl.run_options import OPTIONS

if TYPE_CHECKING:
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.scoring.expectations import Expectations
    from pytest_bfcl.scoring.gating import Gates
    from pytest_bfcl.session.run import Run

JUDGED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def gates_of(session: Session, expectations: Expectations) -> Gates:
    """The gates of the options."""
    from pytest_bfcl.scoring.gating import GateOptions, Gates

    options, settings = GateOptions(**session.plan.gates), session.settings
    return Gates(options, rules=settings.rules, max_errors_pct=settings.max_errors_pct, expectations=expectations)


class SessionGates:
    """Facts that only a session knows of its gates, on the controller: which were typed, which data is meant."""

    def __init__(self, session: Session, run: Run) -> None:
        self._session = session
        self._run = run
        self.options = run.checked_gates.options
        run.check_gates([spec.text for spec in session.specs], session.config.invocation_params.dir)
        if self._data_is_guessed():
            run.checked_gates.refuse_guessed_data()

    def refuse_unreachable(
        self, entries: Sequence[tuple[str, str]], skip_reason: Callable[[str], str | None], *, others: bool
    ) -> None:
        """Stop before the first request if no answers of the selected entries could meet a gate.

        ``entries``: id and category of the planned entries; ``others``: other tests run, too. Entries of earlier parts
        count as well. Gates of a configuration file do not apply to a session of other tests only, and a note reports
        this. Raises `pytest.UsageError`."""
        if not entries and not self._run.earlier.settled and self.options.wants_verdict and not self._typed():
            self._session.notices.note("gates: no verdict: no entry was collected")
            return
        try:
            self._run.refuse_unreachable(dict(entries), skip_reason, others=others)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None

    def _typed(self) -> bool:
        """Whether a gate is on the command line."""
        named = named_options(self._session.config.invocation_params.args)
        return any(option.asks_verdict and f"--bfcl-{option.name}" in named for option in OPTIONS)

    def _data_is_guessed(self) -> bool:
        """Whether only ``auto`` selects the data."""
        if self._session.plan.data != "auto":
            return False
        named = any(argument.partition("::")[0].endswith(".jsonl") for argument in self._session.config.args)
        return bool(self._session.data.arguments) or not named
