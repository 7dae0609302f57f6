"""Cost, budget, dry run, latency, progress."""

from __future__ import annotations

import os
import pty
import re
import select
import statistics
import time

import pytest

from .conftest import Bench, environment

ALL = 40


@pytest.mark.slow
def test_latency_is_the_servers_not_our_queue(bench: Bench, session) -> None:
    bench.serve(delay=0.2)
    session("-q", "--tb=no", "--bfcl-concurrency=2", "-k", "multiple or irrelevance")  # 10 requests: one second
    latencies = [record["latency_s"] for record in bench.records().values()]
    assert min(latencies) >= 0.2
    assert statistics.median(latencies) < 0.4
    assert bench.numbers()["latency"]["mean"] == pytest.approx(sum(latencies) / 10, rel=0.01)


def on_terminal(bench: Bench, *args: str, **variables: str) -> str:
    """What a run prints when its output is a terminal."""
    controller, worker = pty.openpty()
    more = {"stdout": worker, "stderr": worker, "stdin": worker, "env": environment() | variables | {"TERM": "xterm"}}
    process = bench.start(*args, **more)
    os.close(worker)
    text, ends = b"", time.monotonic() + 60
    while time.monotonic() < ends:
        ready, _, _ = select.select([controller], [], [], 0.2)
        try:
            part = os.read(controller, 65536) if ready else b""
        except OSError:  # closed by the process that ended
            break
        text += part
        if process.poll() is not None and not ready:
            break
    process.wait(10)
    os.close(controller)
    return text.decode()


@pytest.mark.slow
def test_progress_on_a_terminal_and_none_in_ci(bench: Bench) -> None:
    bench.serve({"kind": 400, "ids": "simple_python_0$"}, delay=0.15)
    quicker = "from pytest_bfcl.plugin import results\nresults.FIRST_S, results.EVERY_S = 0.4, 0.2\n"
    (bench.path / "conftest.py").write_text(quicker)  # else the run must last three seconds
    options = ("--tb=no", "--bfcl-concurrency=5", "--bfcl-price=1000,2000", "--bfcl-max-errors=10")
    shown = on_terminal(bench, *options)
    lines = re.findall(
        r"bfcl: (\d+) of 40, ([\d.]+)/s, (\d+:\d\d) left, 100.0 % correct, 1 errors?, ([\d.]+) USD", shown
    )
    assert lines, shown
    assert all(0 < int(done) < ALL for done, *_ in lines)
    assert "[100%]" in shown
    quiet = on_terminal(bench, *options, "--bfcl-out=ci", CI="true")
    assert " left, " not in quiet
