"""How a session ends: expected failures, summary, gates, one exit code (contract §7), and the dry run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import Failure, UsageError
from pytest_bfcl.plugin.selection import entry_id_of

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_bfcl.plugin.collection import EntryItem
    from pytest_bfcl.plugin.session import BfclSession
    from pytest_bfcl.runs import RunDirectory
    from pytest_bfcl.scoring.comparison import Comparison

GATED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


class Expectations:
    """Entries expected to fail (``--bfcl-expected``): keyed on model, mode and entry id, never on node ids."""

    def __init__(self, bfcl: BfclSession) -> None:
        self.bfcl = bfcl
        self._keys: set[tuple[str, str]] | None = None

    def mark(self, item: EntryItem) -> None:
        """Mark an item whose failure is expected; errors stay errors, an unexpected pass is shown as one."""
        if self.bfcl.plan.expected is None:
            return
        if self._keys is None:
            self._keys = {
                (str(key["id"]), f"{key['model']}|{key['mode']}") for key in self.bfcl.plan.expected.get("failures", ())
            }
        model, mode = self.bfcl.conversations.identity(item)
        if (item.ref.id, f"{model}|{mode}") in self._keys:
            item.add_marker(pytest.mark.xfail(raises=Failure, reason="expected by --bfcl-expected", strict=False))


class Verdicts:
    """The end of the session, on the controller."""

    def __init__(self, bfcl: BfclSession) -> None:
        from pytest_bfcl.scoring.gates import parse_gate

        self.bfcl = bfcl
        self.summary: dict[str, Any] | None = None
        self._began = time.monotonic()
        self.gates = [parse_gate(text) for text in bfcl.plan.fail_under]
        self._check_data()

    def _check_data(self) -> None:
        """Gates, baselines and expected failures hold for one data set: refuse to guess it, refuse another one."""
        plan = self.bfcl.plan
        if plan.baseline:
            from pytest_bfcl.runs import RunDirectory

            differences = RunDirectory.open(self._baseline_path()).fingerprint.differences(
                self.bfcl.fingerprint(), models=False
            )
            if differences:
                listed = "; ".join(differences)
                raise UsageError(f"--bfcl-baseline {plan.baseline} measured something else: {listed}")
        if plan.expected is not None:
            data = self.bfcl.fingerprint().to_dict()["dataset"]
            if plan.expected.get("dataset", data) != data:
                raise UsageError("--bfcl-expected was written for another data set; write it anew with this one")
        known = plan.baseline or plan.expected or plan.data != "auto" or self.bfcl.config.args
        if self.gates and not known:
            raise UsageError("a gate needs to know its data: add --bfcl-data official, bundled or a path")

    def _baseline_path(self) -> Path:
        return self.bfcl.config.invocation_params.dir / str(self.bfcl.plan.baseline)

    def _comparisons(self, run: RunDirectory) -> list[Comparison]:
        """Every model against the same one in the baseline."""
        if not self.bfcl.plan.baseline:
            return []
        from pytest_bfcl.runs import RunDirectory
        from pytest_bfcl.scoring.comparison import by_model, compare, pair_models

        rules = self.bfcl.settings.rules
        before = by_model(RunDirectory.open(self._baseline_path()).records(), rules)
        after = by_model(run.records(), rules)
        official = self.bfcl.dataset.official
        pairs = pair_models(before, after)
        return [compare(before[a], after[b], names=(a, b), official=official) for a, b in pairs]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """A dry run ends after collection; otherwise the run directory is opened before the first item."""
        if self.bfcl.plan.dry_run and not session.config.option.collectonly:
            from pytest_bfcl.plugin.dry_run import print_estimate

            print_estimate(self.bfcl, [item for item in session.items if hasattr(item, "ref")])  # type: ignore[misc]
            return True
        if session.config.option.collectonly:
            return None
        if self.bfcl.items and not self.bfcl.distributed:
            self.bfcl.outcomes.planned = [item.nodeid for item in self.bfcl.items]
            try:
                self.bfcl.conversations.create_models(self.bfcl.items)
            except UsageError as error:
                raise pytest.UsageError(str(error)) from None
            self.bfcl.start_run()
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Summarise, judge the gates, set the exit code, close the run."""
        run = self.bfcl.run
        if run is None:
            return
        stopped = self._stopped(session)
        self._settle_modes(run)
        run.state(f"stopped:{stopped}" if stopped else "finished")
        self.summary = self._summarise(run)
        code = self._exit_code(session, run, stopped)
        run.write_summary(self.summary)
        self._write_expected(run)
        self.bfcl.config.hook.pytest_bfcl_summary(summary=self.summary)
        self._write_report(run)
        run.close()
        if code is not None:
            session.exitstatus = code

    def _settle_modes(self, run: RunDirectory) -> None:
        """Write down the mode that ``auto`` came to, as the results tell it."""
        from dataclasses import replace

        from pytest_bfcl.models import parse_spec
        from pytest_bfcl.runs import ModelFingerprint

        seen = {parse_spec(str(record["model"])).base: record for record in run.records() if record["model"]}
        models = []
        for model in run.fingerprint.models:
            record = seen.get(parse_spec(model.model).base)
            if record is not None and record["mode"] != model.mode and self.bfcl.settings.mode == "auto":
                model = ModelFingerprint.of(record["model"], record["mode"], self.bfcl.settings)
                self.bfcl.outcomes.notes.append(f"mode auto came to {record['mode']}: results are {record['model']}")
            models.append(model)
        if tuple(models) != tuple(run.fingerprint.models):
            run.update(replace(run.fingerprint, models=tuple(models)))

    def _stopped(self, session: pytest.Session) -> str | None:
        """Why the run ended early, or ``None``."""
        distributed = self.bfcl.config.pluginmanager.getplugin("dsession")
        elsewhere = getattr(distributed, "shouldstop", None)
        reasons = (self.bfcl.outcomes.stopped, session.shouldfail, session.shouldstop, elsewhere)
        reason = next((reason for reason in reasons if reason), None)
        planned = [nodeid for nodeid in self.bfcl.outcomes.planned if self.bfcl.category_at(nodeid)]
        if reason is None and self.bfcl.outcomes.counts.total() < len(planned):
            reason = "interrupted"
        if reason is not None and self.bfcl.outcomes.stopped is None:
            self.bfcl.outcomes.stopped = str(reason)
        return str(reason) if reason is not None else None

    def _summarise(self, run: RunDirectory) -> dict[str, Any]:
        from pytest_bfcl.dataset import known_issues
        from pytest_bfcl.scoring import summarise

        summary = summarise(
            run.records(),
            fingerprint=run.fingerprint.to_dict(),
            known_issues=known_issues(self.bfcl.dataset.version),
            sizes=self._sizes(),
            max_errors_pct=self.bfcl.settings.max_errors_pct,
        )
        if self.bfcl.plan.model_info:
            summary["model_info"] = self.bfcl.plan.model_info["models"]
        if self.bfcl.settings.gpu_hour_usd is not None:  # what the machine cost while this part ran
            hours = (time.monotonic() - self._began) / 3600
            summary["machine_cost_usd"] = round(hours * self.bfcl.settings.gpu_hour_usd, 6)
        return summary

    def _sizes(self) -> dict[str, int]:
        """Entries planned per category, in this part of the run and in earlier ones."""
        found = {(entry_id_of(node), self.bfcl.category_at(node)) for node in self.bfcl.outcomes.planned}
        assert self.bfcl.run is not None
        found |= {(str(record["id"]), str(record["category"])) for record in self.bfcl.run.records()}
        sizes: dict[str, int] = {}
        for _, category in found:
            if category is not None and CATEGORIES[category].checker != "none":
                sizes[category] = sizes.get(category, 0) + 1
        return sizes

    def _exit_code(self, session: pytest.Session, run: RunDirectory, stopped: str | None) -> int | None:
        """The gates' verdict as exit code, or ``None`` to leave pytest's."""
        plan = self.bfcl.plan
        if self.bfcl.outcomes.stopped and not session.shouldfail:
            return pytest.ExitCode.INTERRUPTED if session.exitstatus in GATED else None
        if stopped or session.exitstatus not in GATED or not (plan.fail_under or plan.baseline or plan.expected):
            return None
        assert self.summary is not None
        gate = self.summary["gate"] = self._gate(self.summary, run)
        failed = gate["verdict"] != "passed" or self.bfcl.outcomes.foreign_failures
        return pytest.ExitCode.TESTS_FAILED if failed else pytest.ExitCode.OK

    def _gate(self, summary: dict[str, Any], run: RunDirectory) -> dict[str, Any]:
        """Thresholds, the baseline, the share of errors."""
        from pytest_bfcl.scoring.gates import evaluate_gates

        return evaluate_gates(
            summary,
            self.gates,
            comparisons=self._comparisons(run),
            max_errors_pct=self.bfcl.settings.max_errors_pct,
            allow_missing=self.bfcl.plan.allow_missing,
        ).to_dict()

    def _write_expected(self, run: RunDirectory) -> None:
        path = self.bfcl.plan.write_expected
        if path is None:
            return
        import json

        failures = [
            {name: record[name] for name in ("model", "mode", "id")}
            for record in run.records()
            if record["outcome"] == "failed"
        ]
        unique = list({tuple(failure.items()): failure for failure in failures}.values())
        content = {"dataset": run.fingerprint.to_dict()["dataset"], "failures": unique}
        target = self.bfcl.config.invocation_params.dir / path
        target.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def _write_report(self, run: RunDirectory) -> None:
        """The HTML report; its trouble must not hide the results."""
        try:
            from pytest_bfcl.reporting import write_report

            write_report(run.path, entry_source=self.bfcl.dataset)
        except Exception as error:
            self.bfcl.outcomes.notes.append(f"the report could not be written: {type(error).__name__}: {error}")
