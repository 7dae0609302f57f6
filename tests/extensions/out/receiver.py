"""A receiver of OTLP over HTTP: keeps what the SDK's exporter sends, as the protocol's own package reads it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.models.loopback import threaded


class Receiver:
    """``spans``: of all requests to ``/v1/traces``; ``status``: what is answered."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.spans: list[Any] = []
        self.resources: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.address = ""

    def take(self, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            self.resources.append(resource.resource)
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]


@contextmanager
def receiving(status: int = 200) -> Iterator[Receiver]:
    receiver = Receiver(status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.headers.append(dict(self.headers))
            if receiver.status == 200:
                receiver.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(receiver.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with threaded(Handler) as receiver.address:
        yield receiver
