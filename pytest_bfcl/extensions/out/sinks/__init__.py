"""A run in progress in other tools: ``--bfcl-report wandb``, ``--bfcl-report otel``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.extras import require

if TYPE_CHECKING:
    from pytest_bfcl.session.sinks import Sink, SinkRun


class Wandb:
    """Weights & Biases."""

    @staticmethod
    def check() -> None:
        """Raises `UsageError` without the extra."""
        require("wandb", "--bfcl-report wandb")

    def __call__(self, run: SinkRun) -> Sink:
        """Begin a run there."""
        from pytest_bfcl.extensions.out.sinks.weights_and_biases import WandbSink

        return WandbSink(run)


class Otel:
    """OpenTelemetry spans, sent as OTLP."""

    @staticmethod
    def check() -> None:
        """Raises `UsageError` without the extra."""
        require("otel", "--bfcl-report otel")

    def __call__(self, run: SinkRun) -> Sink:
        """Open an exporter to the place of the usual variables (OTEL_EXPORTER_OTLP_…)."""
        from pytest_bfcl.extensions.out.sinks.spans import OtelSink

        return OtelSink(run)


wandb, otel = Wandb(), Otel()
