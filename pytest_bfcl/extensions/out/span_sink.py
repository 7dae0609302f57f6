"""Spans of a run in progress, sent as OTLP: to a collector, Langfuse, Phoenix, MLflow.

OpenTelemetry's own variables set address and headers (``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_EXPORTER_OTLP_HEADERS``
…). The spans are those of ``export --format otel``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.out.telemetry import RESULT, Span, spans_of
from pytest_bfcl.extras import install_command, naming
from pytest_bfcl.failures import UsageError
from pytest_bfcl.plain_text import counted

with naming("--bfcl-report otel", install_command("otel")):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    from opentelemetry.trace import SpanKind, set_span_in_context
    from opentelemetry.trace.status import Status, StatusCode

if TYPE_CHECKING:
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary
    from pytest_bfcl.session.sinks import SinkRun

FLUSH_MS = 20_000


class OtelSink:
    """A separate provider, because the process may have another."""

    def __init__(self, run: SinkRun) -> None:
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        logging.getLogger("opentelemetry").propagate = False  # what is not taken is said once, by the run
        version = str(run.facts.get("plugin_version", ""))
        resource = Resource.create({"service.name": "pytest-bfcl", "service.version": version, "bfcl.run": run.name})
        self._exporter = _Counting(OTLPSpanExporter())
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("pytest_bfcl", version)
        self._dataset = str(run.facts["dataset"]["name"])
        self._began = str(run.facts.get("started_at") or "1970-01-01T00:00:00Z")

    def take(self, line: ResultLine) -> None:
        """Send the entry's spans at once."""
        first, *others = spans_of(line, self._dataset, self._began)
        root = self._tracer.start_span(first.name, None, SpanKind.INTERNAL, dict(first.about), start_time=first.begin)
        inside = set_span_in_context(root)
        for span in others:
            self._tracer.start_span(
                span.name, inside, _kind(span), dict(span.about), start_time=span.begin
            ).end(span.end)  # fmt: skip
        if first.result is not None:
            root.add_event(RESULT, dict(first.result), timestamp=first.end)
        root.set_status(Status(StatusCode.ERROR if first.failed else StatusCode.OK))
        root.end(first.end)

    def close(self, summary: Summary) -> None:
        """Send the rest. Raises `UsageError` for refused spans."""
        self._provider.force_flush(FLUSH_MS)
        self._provider.shutdown()
        if refused := self._exporter.refused:
            raise UsageError(f"{counted(refused, 'span')} were not taken by {self._exporter.address}")


class _Counting(SpanExporter):
    """Counts refused spans, which the exporter itself only logs."""

    def __init__(self, inner: OTLPSpanExporter) -> None:
        self._inner = inner
        self.address = str(getattr(inner, "_endpoint", "the collector"))
        self.refused = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        if result is not SpanExportResult.SUCCESS:
            self.refused += len(spans)
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()  # type: ignore[no-untyped-call]


def _kind(span: Span) -> SpanKind:
    return SpanKind.CLIENT if span.calls_out else SpanKind.INTERNAL
