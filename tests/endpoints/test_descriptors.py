"""Too few files for the requests in flight: fewer are in flight, and no entry is lost."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

resource = pytest.importorskip("resource")

RUN = """
import asyncio, json, resource, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"choices": [{"message": {"content": "No."}, "finish_reason": "stop"}]}).encode()
        self.send_response(200); self.send_header("content-length", str(len(body))); self.end_headers()
        self.wfile.write(body)

if sys.argv[1] == "serve":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    print(server.server_port, flush=True)
    server.serve_forever()
import pytest_bfcl
from pytest_bfcl.settings import Settings
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
settings = Settings(base_url=f"http://127.0.0.1:{sys.argv[1]}/v1", concurrency=128, retries=0)
result = pytest_bfcl.run("bundled", "openai:m@prompt", settings=settings, categories=["single_turn"])
print(json.dumps([[line["outcome"], line["reason"]] for line in result.records]))
"""


@pytest.mark.slow
def test_no_answer_is_lost_with_64_files_and_128_wanted() -> None:
    with subprocess.Popen([sys.executable, "-c", RUN, "serve"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            done = subprocess.run([sys.executable, "-c", RUN, port], capture_output=True, text=True, timeout=120)
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = json.loads(done.stdout.splitlines()[-1])
    assert len(outcomes) > 150
    assert {outcome for outcome, _ in outcomes} <= {"passed", "failed"}, outcomes[:5]
