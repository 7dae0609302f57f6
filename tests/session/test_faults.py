"""What a flaky server does to a run, and must not do, also at full load; latency and progress."""

from __future__ import annotations

import os
import pty
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_bfcl.dataset.loading import DataSet
from tests.patience import patience

from .conftest import Bench, Server, environment

ALL = 40
QUICK = ("--bfcl-concurrency=16", "-q", "--tb=no")


KINDS = (500, 503, 429, 408, "reset", "truncate", "empty", "notjson")


def test_passing_faults_leave_no_mark_on_the_scores(bench: Bench, session) -> None:
    server = bench.serve(
        *({"kind": kind, "first": 1, "ids": f"simple_python_{n}$|multiple_{n}$"} for n, kind in enumerate(KINDS))
    )
    result = session(*QUICK)
    result.assert_outcomes(passed=ALL)
    assert result.ret == 0
    numbers = bench.numbers()
    assert numbers["failure_counts"] == {}
    assert sum(found["errors"] for found in numbers["categories"].values()) == 0
    failed = {(line["id"], line["fault"]) for line in server.lines() if line["fault"] != "none"}
    assert {fault for _, fault in failed} == {str(kind) for kind in KINDS}
    assert len(failed) == 14
    attempts = {name: record["attempts"] for name, record in bench.records().items()}
    assert {name for name, count in attempts.items() if count == 2} == {name for name, _ in failed}


def test_a_dead_server_ends_the_run_with_one_message(bench: Bench, session) -> None:
    started = time.monotonic()
    result = session(*QUICK, "--bfcl-retries=1")
    assert time.monotonic() - started < patience(20)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["stopped: no server listens at http://127.0.0.1:9/v1*"])
    assert str(result.stdout).count("stopped:") == 1
    numbers = bench.numbers()
    assert numbers["overall"]["value"] is None
    assert all(found["accuracy"] is None for found in numbers["categories"].values())
    assert len(bench.records()) < 10


def test_a_server_that_dies_midway_keeps_what_was_answered(bench: Bench, session) -> None:
    server = bench.serve({"kind": "reset", "ids": r"simple_python_(1\d|2\d)$|multiple|irrelevance|probe"})
    result = session(*QUICK, "--bfcl-retries=0", "--bfcl-concurrency=4")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["stopped: *drops every connection*"])
    assert all(bench.verdicts()[f"simple_python_{n}"] == ("passed", None) for n in range(10))
    server.faults()
    server.forget()
    assert session(*QUICK).ret == 0
    assert not {f"simple_python_{n}" for n in range(10)} & {line["id"] for line in server.lines()}
    assert len(bench.verdicts()) == ALL


@pytest.mark.slow
def test_retry_after_is_honoured(bench: Bench, session) -> None:
    server = bench.serve({"kind": 429, "first": 1, "seconds": 2, "ids": "multiple_3"})
    session(*QUICK).assert_outcomes(passed=ALL)
    first, second = (line["at"] for line in server.lines() if line["id"] == "multiple_3")
    assert 2 <= second - first < 5
    assert bench.records()["multiple_3"]["latency_s"] < 1  # waiting for the server's permission is not its latency


def on_terminal(bench: Bench, *args: str, **variables: str) -> str:
    """What a run prints when its output is a terminal."""
    controller, worker = pty.openpty()
    streams = {"stdout": worker, "stderr": worker, "stdin": worker}
    with bench.start(*args, env=environment() | variables | {"TERM": "xterm"}, **streams):
        os.close(worker)
        text = b""
        with suppress(OSError):  # closed by the process that ended
            while part := os.read(controller, 65536):
                text += part
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


SINGLE_TURN, CONVERSATIONS = 3_641, 200
PEAK_MB = 400
"""What a run of this size may take at most; docs/running.md says what it took."""


def peak_of(bench: Bench, *args: str, out: str) -> int:
    """Run to the end; the most memory its process held, in megabytes."""
    with (bench.path / f"{out}.txt").open("w") as said:
        process = bench.start(*args, out=out, stdout=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    text = (bench.path / f"{out}.txt").read_text()
    assert process.returncode in (0, 1), text[-3000:]
    return used.ru_maxrss // 1024


@pytest.mark.slow
def test_eight_kinds_of_trouble_at_full_load_change_no_verdict(bench: Bench, official: DataSet, tmp_path: Path) -> None:
    bench.server = server = Server(Path("official"), tmp_path / "asked.jsonl")
    server.delay = 0.2
    options = ("--bfcl-data=official", "-m", "single_turn or multi_turn_base", "--bfcl-concurrency=256")
    quiet = ("-q", "--tb=no", "-r", "N", "--bfcl-report=none")
    try:
        server.faults()
        calm_mb = peak_of(bench, *options, *quiet, out="calm")
        calm_asked = len(server.lines())
        server.forget()
        server.faults(*({"kind": kind, "share": 0.02, "first": 3} for kind in KINDS))
        flaky_mb = peak_of(bench, *options, *quiet, out="flaky")
        failed = [line for line in server.lines() if line["fault"] != "none"]
        most = server.most_in_flight()
    finally:
        server.stop()
    calm, flaky = bench.verdicts("calm"), bench.verdicts("flaky")
    assert len(calm) == SINGLE_TURN + CONVERSATIONS
    assert flaky == calm
    assert not [name for name, (outcome, _) in calm.items() if outcome == "error"]
    assert {line["fault"] for line in failed} == {str(kind) for kind in KINDS}
    assert 0.1 * calm_asked < len(failed) < 0.25 * calm_asked
    assert most > 240
    print(f"peak memory: {calm_mb} MB calm, {flaky_mb} MB in trouble")
    assert max(calm_mb, flaky_mb) < PEAK_MB
