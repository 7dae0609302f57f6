"""Expected failures (``--bfcl-expected``, ``--bfcl-write-expected``): known failures are xfail, only news is red.

The file is JSON: the data set and the rules it holds for, and the failures, keyed on model, mode and entry id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.failures import Failure, UsageError
from pytest_bfcl.json_types import Fields

if TYPE_CHECKING:
    from pytest_bfcl.plugin.recording import Recording
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.runs import RunDirectory
    from pytest_bfcl.scoring import GateCheck

Key = tuple[str, str, str]
"""Model, mode, entry id."""


def key_of(record: Fields) -> Key:
    """The key of a result line or of a line of the file."""
    return str(record["model"]), str(record["mode"]), str(record["id"])


class Expectations:
    """The entries expected to fail."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.asked = session.plan.expected is not None
        self.failures = self._read(session.plan.expected)

    @staticmethod
    def _read(content: Any) -> dict[Key, Fields]:
        if content is None:
            return {}
        try:
            return {key_of(failure): failure for failure in content["failures"]}
        except (TypeError, KeyError):
            raise UsageError(
                '--bfcl-expected: the file must hold {"dataset": …, "failures": [{"model", "mode", "id"}, …]}; '
                "--bfcl-write-expected FILE writes one"
            ) from None

    def check_conditions(self, recording: Recording) -> None:
        """Refuse a file written for other data or other rules."""
        plan = self._session.plan
        if not isinstance(plan.expected, dict):
            return
        data = recording.fingerprint().to_dict()["dataset"]
        if plan.expected.get("dataset", data) != data:
            raise UsageError("--bfcl-expected was written for another data set; write it anew with this one")
        rules = self._session.settings.rules
        if plan.expected.get("rules", rules) != rules:
            raise UsageError(f"--bfcl-expected was written under {plan.expected['rules']} rules, this run has {rules}")

    def mark(self, item: pytest.Item, record: Fields) -> None:
        """Mark an item whose failure is expected; errors stay errors, an unexpected pass is shown as one.

        Called when the entry is judged: only then the model's name and mode are certain.
        """
        if expected := self.failures.get(key_of(record)):
            why = f"expected by --bfcl-expected: {expected.get('reason') or 'a failure'}"
            item.add_marker(pytest.mark.xfail(raises=Failure, reason=why, strict=False))

    def check(self, records: Iterable[Fields]) -> GateCheck | None:
        """The gate: no failure that is not in the file. Unexpected passes are told, they fail nothing."""
        from pytest_bfcl.scoring import GateCheck

        if not self.asked:
            return None
        judged = [record for record in records if record["outcome"] in ("passed", "failed")]
        failed = {key_of(record): record for record in judged if record["outcome"] == "failed"}
        passed = {key_of(record) for record in judged} - failed.keys()
        news = tuple(
            f"{record['id']}: {record['reason']}" for key, record in failed.items() if key not in self.failures
        )
        noun = "failure that is" if len(news) == 1 else "failures that are"
        why = f"{len(news)} {noun} not expected, {len(failed) - len(news)} that are"
        if fixed := len(passed & self.failures.keys()):
            why += f"; {fixed} expected ones passed (--bfcl-write-expected rewrites the file)"
        return GateCheck("expected", "", not news, why, entries=news)

    def write(self, run: RunDirectory) -> None:
        """Write the failed entries; expected ones that were not run this time are kept."""
        path = self._session.plan.write_expected
        if path is None:
            return
        records = list(run.records())
        judged = {key_of(record) for record in records if record["outcome"] in ("passed", "failed")}
        failures = {key: dict(failure) for key, failure in self.failures.items() if key not in judged}
        for record in records:
            if record["outcome"] == "failed":
                failures[key_of(record)] = {name: record[name] for name in ("model", "mode", "id", "reason")}
        content = {
            "dataset": run.fingerprint.to_dict()["dataset"],
            "rules": run.fingerprint.rules,
            "failures": [failures[key] for key in sorted(failures)],
        }
        target = self._session.config.invocation_params.dir / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            self._session.notices.note(f"--bfcl-write-expected: cannot write {target}: {error.strerror}")
        else:
            self._session.notices.note(f"{len(failures)} expected failures written to {path}")
