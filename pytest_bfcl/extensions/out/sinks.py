"""A run in progress in other tools: ``--bfcl-report wandb``, ``--bfcl-report otel``.

Weights & Biases gets progress during the run, and scores with intervals and a table at its end. Project and entity are
wandb's own variables, or ``WANDB_BFCL_PROJECT=ENTITY:PROJECT`` as for bfcl-eval. With
``WANDB_MODE=offline`` everything goes to a folder, for `wandb sync`.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.extras import require
from pytest_bfcl.scoring.score_record import score_records

if TYPE_CHECKING:
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary
    from pytest_bfcl.session.sinks import Sink, SinkRun


EVERY_S = 2.0
"""How often progress is sent."""
PROJECT = "pytest-bfcl"
COLUMNS = ("model", "score", "percent", "low95", "high95", "entries", "note")


class Opening(NamedTuple):
    """How ``--bfcl-report NAME`` opens a sink; it needs the extra of that name."""

    name: str
    open: Callable[[SinkRun], Sink]

    def check(self) -> None:
        """Raises `UsageError` without the extra."""
        require(self.name, f"--bfcl-report {self.name}")

    def __call__(self, run: SinkRun) -> Sink:
        """Begin a run there."""
        return self.open(run)


def _spans(run: SinkRun) -> Sink:
    """OpenTelemetry spans, sent as OTLP to the place of the usual variables (OTEL_EXPORTER_OTLP_…)."""
    from pytest_bfcl.extensions.out.span_sink import OtelSink

    return OtelSink(run)


class WandbSink:
    """One run there for one run here."""

    def __init__(self, run: SinkRun) -> None:
        import wandb

        entity, _, project = os.environ.get("WANDB_BFCL_PROJECT", "").rpartition(":")
        self._run: Any = wandb.init(
            entity=entity or None, project=project or os.environ.get("WANDB_PROJECT") or PROJECT, name=run.name,
            job_type="evaluation", config=dict(run.facts), dir=str(run.path) if run.path is not None else None,
            settings=wandb.Settings(silent=True, console="off"),
        )  # fmt: skip
        self._table = wandb.Table
        self._counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._lines, self._sent = 0, time.monotonic()

    def take(self, line: ResultLine) -> None:
        """Count it; the counts are sent every few seconds."""
        counts = self._counts[line["model"] or "?"]
        counts[line["outcome"]] += 1
        if (cost := line.get("cost_usd")) is not None:  # without a price there is no figure
            counts["cost_usd"] += cost
        self._lines += 1
        if time.monotonic() - self._sent >= EVERY_S:
            self._send()

    def close(self, summary: Summary) -> None:
        """Scores of every model, as values of the run and as a table."""
        self._send()
        rows: list[list[Any]] = []
        for model, found in summary["models"].items():
            for score in score_records(found, summary["fingerprint"]):
                low, high = (None, None) if score.interval95 is None else (100 * each for each in score.interval95)
                rows.append([model, score.name, 100 * score.value, low, high, score.judged, score.note])
        for model, name, *values in rows:
            told = zip(COLUMNS[2:], values, strict=True)
            self._run.summary.update({f"{model}/{name}/{key}": value for key, value in told if value is not None})
        self._run.log({"scores": self._table(columns=list(COLUMNS), data=rows)})
        self._run.finish()

    def _send(self) -> None:
        self._sent = time.monotonic()
        told: dict[str, float] = {"lines": self._lines}
        for model, counts in self._counts.items():
            judged = counts["passed"] + counts["failed"]
            told |= {f"{model}/{name}": value for name, value in counts.items()}
            if judged:
                told[f"{model}/correct so far"] = 100 * counts["passed"] / judged
        self._run.log(told)


wandb, otel = Opening("wandb", WandbSink), Opening("otel", _spans)
