"""Sinks of this package: spans to a receiver, scores to wandb."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings
from tests.extensions.out.receiver import receiving
from tests.session.test_sinks import CATEGORIES, plain


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def test_spans_reach_a_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's exporter, OTLP over HTTP, and the protocol's package on the other side."""
    pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")
    with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-project=mine")
        result = run("bundled", "lexical:", categories=CATEGORIES, settings=Settings(sinks=("otel",)))
    assert not [note for note in result.notes if "sink" in note]
    assert {headers["x-project"] for headers in receiver.headers} == {"mine"}
    assert "pytest-bfcl" in str(receiver.resources[0])
    spans = {span.span_id: span for span in receiver.spans}
    roots = [span for span in spans.values() if not span.parent_span_id]
    assert sorted(attributes(span)["bfcl.entry"] for span in roots) == sorted(line["id"] for line in result.records)
    assert all(span.parent_span_id in spans for span in spans.values() if span.parent_span_id)
    assert {attributes(span).get("gen_ai.operation.name") for span in spans.values()} == {None, "chat", "execute_tool"}
    scores = {attributes(span)["bfcl.entry"]: attributes(event) for span in roots for event in span.events}
    for line in result.records:
        told = scores[line["id"]]
        assert told["gen_ai.evaluation.score.label"] == line["outcome"]
        assert told["gen_ai.evaluation.score.value"] == float(line["outcome"] == "passed")
        assert told.get("gen_ai.evaluation.explanation") == (line["reason"] if line["outcome"] == "failed" else None)
    chats = [attributes(span) for span in spans.values() if span.name.startswith("chat ")]
    assert {each["gen_ai.request.model"] for each in chats} == {"lexical:@fc"}


def test_a_receiver_that_refuses_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")
    with receiving(status=400) as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
        result = run("bundled", "oracle:", categories=CATEGORIES, settings=Settings(sinks=("otel",)))
    (told,) = [note for note in result.notes if note.startswith("sink ")]
    assert "spans were not taken by http://127.0.0.1" in told
    assert plain(result) == plain(run("bundled", "oracle:", categories=CATEGORIES))


READ = """
import json, struct, sys
from pathlib import Path
from wandb.proto import wandb_internal_pb2
data, at, parts = Path(sys.argv[1]).read_bytes(), 7, b""
summary, kinds = {}, set()
while at + 7 <= len(data):
    if (left := 32768 - at % 32768) < 7:
        at += left
        continue
    _, length, kind = struct.unpack("<IHB", data[at : at + 7])
    parts += data[at + 7 : at + 7 + length]
    at += 7 + length
    if kind not in (1, 4):  # the first or a middle piece of a record
        continue
    record, parts = wandb_internal_pb2.Record.FromString(parts), b""
    kinds.add(record.WhichOneof("record_type"))
    for item in [*record.summary.update, *record.history.item]:
        summary["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
print(json.dumps({"summary": summary, "kinds": sorted(kinds)}))
"""
"""The pieces of its log are LevelDB's; the records are read by wandb's own package."""


@pytest.mark.slow
def test_wandb_offline_has_the_scores(tmp_path: Path) -> None:
    """The real package without a network; what it would have sent is read back."""
    python = os.environ.get("BFCL_WANDB") or sys.executable
    if subprocess.run([python, "-c", "import wandb, pytest_bfcl"], capture_output=True, check=False).returncode:
        pytest.skip("no wandb (the extra wandb, or name a Python that has it and this package with BFCL_WANDB)")
    environment = os.environ | {"WANDB_MODE": "offline", "WANDB_BFCL_PROJECT": "us:tools", "HOME": str(tmp_path)}
    words = ["run", "--model", "lexical:", "--data", "bundled", "--categories", "simple_java"]
    command = [python, "-m", "pytest_bfcl", *words, "-o", str(tmp_path / "run"), "--report", "none,wandb"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "sink wandb" not in done.stdout
    (file,) = (tmp_path / "run" / "wandb").glob("offline-run-*/*.wandb")
    read = subprocess.run([python, "-c", READ, str(file)], capture_output=True, text=True, check=True, timeout=60)
    found = json.loads(read.stdout.splitlines()[-1])
    scores = json.loads((tmp_path / "run" / "summary.json").read_text())["models"]["lexical:@fc"]["categories"]
    told = found["summary"]
    assert told["lexical:@fc/simple_java/percent"] == pytest.approx(100 * scores["simple_java"]["accuracy"])
    assert told["lexical:@fc/simple_java/entries"] == 13
    assert told["lines"] == 13
    assert told["scores/nrows"] >= 1, sorted(told)
    assert {"run", "history", "exit"} <= set(found["kinds"])
