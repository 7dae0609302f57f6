"""OpenTelemetry's conventions for generative AI: a run as spans, in OTLP's JSON (one request a line).

An entry is a span, its requests are ``chat`` spans and its calls ``execute_tool`` spans below it, the verdict is the
event ``gen_ai.evaluation.result``. Collectors, Langfuse, Phoenix and MLflow accept OTLP. Requests follow each other
from the start of the entry's line, because a line has their lengths and not their times.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_bfcl.extensions.out.finished import Finished, file_name
from pytest_bfcl.json_types import Fields, Parsed, leaves

BATCH = 200
"""Entries in one request, because collectors refuse bodies above some megabytes."""
CLIENT, INTERNAL = 3, 1
OK, ERROR = 1, 2
RESULT = "gen_ai.evaluation.result"
"""The event's name, by the conventions."""


def export(run: Path, folder: Path) -> Iterator[Path]:
    """One file a model: JSON lines, each the body of a POST to ``/v1/traces``."""
    finished = Finished.open(run)
    for model in finished.models:
        target = folder / f"{file_name(model)}.otlp.jsonl"
        with target.open("w", encoding="utf-8") as file:
            batch: list[Parsed] = []
            for number, line in enumerate(finished.lines(model), 1):
                key = f"{finished.ended_at}|{line['model']}|{line['id']}|{line['repeat']}"
                began = str(finished.fingerprint.get("started_at") or finished.ended_at)
                batch += _otlp(spans_of(line, str(finished.dataset["name"]), began), key)
                if number % BATCH == 0:
                    file.write(json.dumps(request(finished, batch)) + "\n")
                    batch = []
            if batch:
                file.write(json.dumps(request(finished, batch)) + "\n")
        yield target


def request(finished: Finished, spans: list[Parsed]) -> Parsed:
    """The body of one export request."""
    version = str(finished.fingerprint["plugin_version"])
    resource = _attributes({"service.name": "pytest-bfcl", "service.version": version})
    scope = {"name": "pytest_bfcl", "version": version}
    return {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"scope": scope, "spans": spans}]}]}


@dataclass(frozen=True, slots=True)
class Span:
    """One span; the first of an entry is the parent of its others. Times are nanoseconds since 1970.

    ``result`` are the attributes of the event ``gen_ai.evaluation.result``.
    """

    name: str
    begin: int
    end: int
    about: Fields
    calls_out: bool = False
    result: Fields | None = None
    failed: bool = False


def spans_of(line: Fields, dataset: str, otherwise: str) -> Iterator[Span]:
    """The entry's span, its chats and its calls; ``otherwise``: the start of a line without one."""
    begin = _nanoseconds(line.get("started_at") or otherwise)
    latencies = [float(each) for each in leaves(line.get("latency_s")) if isinstance(each, int | float)]
    told = [int(each) for each in leaves(line.get("input_tokens")) if isinstance(each, int | float)]
    said = [int(each) for each in leaves(line.get("output_tokens")) if isinstance(each, int | float)]
    model, now = str(line["model"]), begin
    children = []
    for number, calls in enumerate(_replies(line)):
        end = now + int(1e9 * (latencies[number] if number < len(latencies) else 0.0))
        about: Parsed = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
        if number < len(told):
            about["gen_ai.usage.input_tokens"] = told[number]
        if number < len(said):
            about["gen_ai.usage.output_tokens"] = said[number]
        children.append(Span(f"chat {model}", now, end, about, calls_out=True))
        for name in calls:
            tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
            children.append(Span(f"execute_tool {name}", end, end, tool))
        now = end
    outcome = str(line["outcome"])
    result: Parsed | None = None
    if outcome in ("passed", "failed"):
        result = {
            "gen_ai.evaluation.name": "bfcl", "gen_ai.evaluation.score.value": float(outcome == "passed"),
            "gen_ai.evaluation.score.label": outcome,
            **({} if outcome == "passed" else {"gen_ai.evaluation.explanation": str(line.get("reason"))}),
        }  # fmt: skip
    about = {
        "bfcl.entry": str(line["id"]), "bfcl.category": str(line["category"]), "bfcl.outcome": outcome,
        "bfcl.dataset": dataset, "gen_ai.request.model": model,
    }  # fmt: skip
    yield Span(f"evaluate {line['id']}", begin, now, about, result=result, failed=outcome == "error")
    yield from children


def _otlp(spans: Iterable[Span], key: str) -> Iterator[Parsed]:
    """Spans of one entry in OTLP's JSON; ``key`` makes their ids, which stay equal in a second export."""
    root = _hex(key + "|root", 16)
    for number, span in enumerate(spans):
        made: Parsed = {
            "traceId": _hex(key, 32), "spanId": _hex(f"{key}|{number}", 16) if number else root, "name": span.name,
            "kind": CLIENT if span.calls_out else INTERNAL, "startTimeUnixNano": str(span.begin),
            "endTimeUnixNano": str(span.end), "attributes": _attributes(span.about),
        }  # fmt: skip
        if number:
            made["parentSpanId"] = root
        else:
            made["status"] = {"code": ERROR if span.failed else OK}
        if span.result is not None:
            event = {"timeUnixNano": str(span.end), "name": RESULT, "attributes": _attributes(span.result)}
            made["events"] = [event]
        yield made


def _replies(line: Fields) -> Iterator[list[str]]:
    """The names of the calls in each reply, in order."""
    output = line.get("output")
    nested = isinstance(output, list) and any(isinstance(each, list) for each in output)
    steps = [step for turn in output for step in turn] if nested and isinstance(output, list) else [output]
    for step in steps:
        calls = step if isinstance(step, list) else []
        yield [str(call.get("name")) for call in calls if isinstance(call, dict)]


def _attributes(values: Fields) -> list[Parsed]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> Parsed:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}


def _hex(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _nanoseconds(text: str) -> int:
    return int(datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp() * 1e9)
