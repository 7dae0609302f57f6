"""Held against the other side's own packages, in a Python that has them: prints one JSON line of what they read.

``python validate_elsewhere.py FOLDER WHEEL``: FOLDER has a folder for each format, WHEEL is that of every-eval-ever.
"""

import base64
import json
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import jsonschema
from google.protobuf import json_format
from inspect_ai.log import read_eval_log
from lm_eval.utils import make_table
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

folder, wheel = Path(sys.argv[1]), zipfile.ZipFile(sys.argv[2])


def schema(name):
    return jsonschema.Draft7Validator(json.loads(wheel.read(f"every_eval_ever/schemas/{name}.schema.json")))


found = {"problems": [], "samples": 0, "spans": 0, "logs": []}
for path in (folder / "every-eval-ever").rglob("*.json"):
    found["problems"] += [error.message for error in schema("eval").iter_errors(json.loads(path.read_text()))]
rows = schema("instance_level_eval")
for path in (folder / "every-eval-ever").rglob("*.jsonl"):
    for line in path.read_text().splitlines():
        found["samples"] += 1
        found["problems"] += [error.message for error in rows.iter_errors(json.loads(line))]
for path in (folder / "inspect").glob("*.eval"):
    log = read_eval_log(str(path))
    messages = sum(len(sample.messages) for sample in log.samples)
    values = [sample.scores["bfcl"].value for sample in log.samples]
    found["logs"].append([log.status, len(log.samples), values.count("C"), messages])
for path in (folder / "otel").glob("*.jsonl"):
    for line in path.read_text().splitlines():
        told = json.loads(line)
        for span in told["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for name in ("traceId", "spanId", "parentSpanId"):  # OTLP has these in hex, protobuf's JSON in base64
                if name in span:
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        request = json_format.ParseDict(told, ExportTraceServiceRequest())
        found["spans"] += len(request.resource_spans[0].scope_spans[0].spans)
found["harness"] = {
    path.parent.name: make_table(json.loads(path.read_text())).count("acc") for path in folder.glob("lm-eval/*/*.json")
}


def viewed(logs):
    """What `inspect view` serves its page: its list of logs, and the status of each as it reads it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("inspect"), "view", "start", "--log-dir", ".", "--port", str(port)]
    server = subprocess.Popen(command, cwd=logs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                files = json.load(urlopen(f"http://127.0.0.1:{port}/api/logs", timeout=5))["files"]
                break
            except OSError:
                time.sleep(0.2)
        names = [each["name"].rpartition("/")[2] for each in files]
        asked = (f"http://127.0.0.1:{port}/api/logs/{quote(name)}?header-only=0" for name in names)
        return [json.load(urlopen(address, timeout=20))["status"] for address in asked]
    finally:
        server.terminate()
        server.wait()


found["viewed"] = viewed(folder / "inspect")
print(json.dumps(found))
