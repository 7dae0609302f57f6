"""A stand-in for an engine: an HTTP server that can be slow, silent, crash at its start or later, and have workers."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"object": "list", "data": [{"id": self.server.model, "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        asked = json.loads(self.rfile.read(size))
        if self.server.crash_after is not None:
            self.server.crash_after -= 1
            if self.server.crash_after < 0:
                print("RuntimeError: out of memory, the stub gives up", flush=True)
                os._exit(9)
        message = {"role": "assistant", "content": "I cannot help with that."}
        reply = {
            "id": "x", "object": "chat.completion", "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
        }  # fmt: skip
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("verb")
    options.add_argument("model")
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--load-s", type=float, default=0.0)
    options.add_argument("--silent-s", type=float, default=0.0)
    options.add_argument("--crash", action="store_true")
    options.add_argument("--crash-after", type=int)
    options.add_argument("--worker-file")
    options.add_argument("--tool-call-parser")
    options.add_argument("--enable-auto-tool-choice", action="store_true")
    given = options.parse_args()
    if given.crash:
        print("loading", given.model)
        sys.exit("ValueError: the stub cannot load this model")
    if given.worker_file:  # a worker process of the engine's own, as real engines have
        worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(given.worker_file, "w", encoding="utf-8") as out:
            out.write(f"{os.getpid()} {worker.pid}")
    time.sleep(given.silent_s)
    for shard in range(int(given.load_s / 0.3)):
        print("loading shard", shard, flush=True)
        time.sleep(0.3)
    server = ThreadingHTTPServer((given.host, given.port), Handler)
    server.model = given.model
    server.crash_after = given.crash_after
    server.serve_forever()


main()
