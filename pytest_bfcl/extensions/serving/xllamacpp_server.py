"""llama.cpp's server from the package ``xllamacpp``, with the options of ``llama-server``.

Run as ``python -m pytest_bfcl.extensions.serving.xllamacpp_server --model FILE.gguf --port N``; ends with a signal.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading

CONTEXT = 8192
"""Tokens that the slots share; the bundled prompts have at most about 2,000."""


def main(arguments: list[str] | None = None) -> int:
    """Serve until a signal arrives."""
    from xllamacpp import CommonParams, Server

    asked = _parser().parse_args(arguments)
    params = CommonParams()
    params.model.path = asked.model
    params.hostnames = [asked.host]
    params.port = asked.port
    params.n_ctx, params.n_parallel = asked.ctx_size, asked.parallel
    params.use_jinja = asked.jinja
    params.cpuparams.n_threads = asked.threads
    if asked.chat_template_file:
        with open(asked.chat_template_file, encoding="utf-8") as file:
            params.chat_template = file.read()
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    server = Server(params)
    sys.stderr.write(f"listening at {server.listening_address}\n")
    sys.stderr.flush()
    done.wait()
    os._exit(0)  # the library waits for connections that clients keep open


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("xllamacpp_server", description=__doc__)
    parser.add_argument("--model", "-m", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--ctx-size", "-c", type=int, default=CONTEXT)
    parser.add_argument("--parallel", "-np", type=int, default=2)
    parser.add_argument("--threads", "-t", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--chat-template-file")
    parser.add_argument("--jinja", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
