"""Multi-turn: time to check all ground truths in one process, and the request rate of a whole run under pytest.

    python benchmarks/multi_turn.py [--repeats 5] [--mock-server FILE] [--delay-ms 300] [--concurrency 128] [--mode fc]

Needs the official data (`pytest-bfcl fetch`). The rate needs an OpenAI-compatible server that answers every request
from the ground truth after a fixed delay, and tells at ``/stats`` how many it had (``counts.requests``) and in how long
(``span_s``); without ``--mock-server`` that part is left out. The ideal rate is concurrency divided by delay.

The reference (bfcl-eval 2026.3.23, the same kind of machine) checks the 800 ground truths against themselves in 0.79 s
in one process, and reaches 34 % of the ideal rate in multi-turn at 128 threads.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from pytest_bfcl.checkers import judge
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.session.evaluation import open_data

REFERENCE_CHECK_S = 0.79
REFERENCE_RATE = 0.34
CATEGORIES = ["multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context"]


def checking(data, repeats):
    """Seconds to load the entries, and best seconds to check all ground truths against themselves."""
    started = time.perf_counter()
    entries = [data.load(ref) for name in CATEGORIES for ref in data.index(name)]
    loading = time.perf_counter() - started
    pairs = []
    for entry in entries:
        trajectory = [[turn] for turn in entry.possible_answer]
        line = {"id": entry.id, "category": entry.category, "trajectory": trajectory}
        pairs.append((entry, transcript_from_line(line)))
    wall, cpu = [], []
    for _ in range(repeats):
        started, spent = time.perf_counter(), time.process_time()
        valid = sum(judge(entry, transcript).valid for entry, transcript in pairs)
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - spent)
    return len(pairs), valid, loading, min(wall), min(cpu)


def stats(url):
    """Requests so far, and seconds from the first to the last answer."""
    with urllib.request.urlopen(f"{url}/stats", timeout=5) as answer:
        told = json.load(answer)
    return told["counts"].get("requests", 0), told["span_s"]


def served(script, data, delay_ms):
    """Start the server; its process and URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, script, "--data", str(data), "--port", str(port), "--delay-ms", str(delay_ms)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            stats(url)
            return process, url
        except OSError:
            time.sleep(0.1)
    process.terminate()
    raise SystemExit("the server does not start")


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def throughput(url, concurrency, mode, extra):
    """Requests, seconds from the first to the last answer, wall and CPU seconds of the whole pytest process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "--model", f"openai:mock@{mode}", "--bfcl-base-url", f"{url}/v1"]
        command += ["--bfcl-data", "official", "-m", "multi_turn", "--bfcl-concurrency", str(concurrency)]
        command += ["-q", "--tb=no", "-r", "N", "-p", "no:cacheprovider", *extra]
        environment = {**os.environ, "OPENAI_API_KEY": "none", "PYTHONPYCACHEPREFIX": str(Path(folder, "compiled"))}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        how = {"cwd": folder, "env": environment, "capture_output": True, "text": True, "check": False}
        # A short run first: byte code is compiled once in an installation's life, not in every run.
        subprocess.run([*command, "--bfcl-sample", "4", "--bfcl-out", "warm"], **how)
        urllib.request.urlopen(urllib.request.Request(f"{url}/reset", method="POST"), timeout=5).close()
        before, started = cpu_of_children(), time.perf_counter()
        finished = subprocess.run([*command, "--bfcl-out", "run"], **how)
        wall, cpu = time.perf_counter() - started, cpu_of_children() - before
        print(next((line for line in reversed(finished.stdout.splitlines()) if " passed" in line), finished.stdout))
        return *stats(url), wall, cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--mock-server")
    parser.add_argument("--delay-ms", type=int, default=300)
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--mode", choices=["fc", "prompt"], default="fc")
    parser.add_argument("pytest", nargs="*", help="further pytest arguments, after --")
    args = parser.parse_args()
    data = open_data("official")
    count, valid, loading, wall, cpu = checking(data, args.repeats)
    print(f"checking: {count} ground truths, {valid} valid, best of {args.repeats}; loading {loading:.2f} s")
    print(f"  pytest-bfcl {wall:.3f} s wall, {cpu:.3f} s CPU; reference {REFERENCE_CHECK_S} s: "
          f"{cpu / REFERENCE_CHECK_S:.2f} of its time in CPU, {wall / REFERENCE_CHECK_S:.2f} in wall")  # fmt: skip
    if not args.mock_server:
        return
    process, url = served(args.mock_server, data.path_of("multi_turn_base").parent, args.delay_ms)
    try:
        requests, span, wall, cpu = throughput(url, args.concurrency, args.mode, args.pytest)
    finally:
        process.terminate()
        process.wait()
    ideal = args.concurrency / (args.delay_ms / 1000)
    print(f"throughput: {requests} requests, {args.concurrency} in flight, {args.delay_ms} ms each, {args.mode}")
    print(f"  first to last request {span:.1f} s = {requests / span:.0f}/s, {requests / span / ideal:.0%} of the ideal "
          f"{ideal:.0f}/s (reference {REFERENCE_RATE:.0%})")  # fmt: skip
    print(f"  whole pytest process {wall:.1f} s wall = {requests / wall / ideal:.0%} of ideal, "
          f"{cpu:.1f} s CPU = {1000 * cpu / requests:.2f} ms a request")  # fmt: skip


if __name__ == "__main__":
    main()
