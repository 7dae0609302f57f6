"""Runs that end before their time: Ctrl-C, kill -9, a full disk, -x; and what is left of them."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.patience import patience

from .conftest import Bench, Server, environment

ALL = 40


def wait_for(server: Server, requests: int) -> None:
    """Until so many requests were answered."""
    for _ in range(600):
        if len(server.lines("answered")) >= requests:
            return
        time.sleep(0.05)
    raise AssertionError("the run does not get going")


@pytest.mark.slow
def test_one_ctrl_c_is_enough(bench: Bench) -> None:
    server = bench.serve({"kind": "slow", "seconds": 60, "ids": "simple_python_2|multiple"})
    process = bench.start("--bfcl-concurrency=8", "-v")
    wait_for(server, 6)
    time.sleep(0.3)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=30)
    assert time.monotonic() - pressed < patience(5)  # xdist would wait ten seconds, and the suite runs on every core
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in text
    assert "results are kept" in text
    assert "the same command with --bfcl-out " in text
    assert "Traceback" not in text
    assert "was never retrieved" not in text
    assert "destroyed but it is pending" not in text
    records = bench.records()
    assert set(records) >= {"simple_python_0", "simple_python_1"}
    assert {record["outcome"] for record in records.values()} == {"passed"}
    server.faults()
    server.forget()
    code, text = bench.finish("--bfcl-concurrency=8", "-q")
    assert code == 0
    assert f"{ALL - len(records)} passed" in text
    assert not {line["id"] for line in server.lines()} & set(records)


@pytest.mark.slow
def test_a_signal_before_anything_was_answered(bench: Bench) -> None:
    server = bench.serve({"kind": "slow", "seconds": 60, "ids": "."})
    process = bench.start("--bfcl-concurrency=8", "-q", "-n", "2")
    for _ in range(600):
        if server.lines("asked"):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=30)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, text
    assert bench.summary()["fingerprint"]["state"] == "stopped:interrupted"


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_a_conversation(bench: Bench) -> None:
    (bench.path / "conftest.py").write_text(
        "import asyncio, signal, pytest\n"
        "from pytest_bfcl.models.oracle import answer\n"
        "@pytest.fixture(scope='session')\n"
        "def model():\n"
        "    async def generate(request):\n"
        "        await asyncio.sleep(0.01)\n"
        "        if request.entry.id == 'simple_python_20':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "        return answer(request.entry, 'fc')\n"
        "    return generate\n"
    )
    code, text = bench.finish("-q", "--bfcl-concurrency=4")
    assert code == pytest.ExitCode.INTERRUPTED, text
    assert "Traceback" not in text
    assert "never retrieved" not in text
    assert bench.summary()["fingerprint"]["state"] == "stopped:interrupted"
    assert bench.records()  # how many were reported by then is a matter of the machine


def kill_and_continue(bench: Bench, moments: int, seed: int, *more: str) -> None:
    """Kill a run at random moments with requests in flight; go on, and compare with an undisturbed one."""
    server = bench.serve(delay=0.03)
    options = ("--bfcl-concurrency=4", "-q", "--tb=no", "--bfcl-price=1,2", *more)
    code, text = bench.finish(*options, out="undisturbed")
    assert code in (0, 1), text
    queries = server.asked()
    assert set(queries.values()) == {1}
    server.forget()
    chance = random.Random(seed)
    kept_at: list[tuple[float, set[tuple[str, int, int]], set[str]]] = []
    for moment in range(moments):
        goal = len(server.lines("answered")) + chance.uniform(0.05, 0.9) / moments * len(queries)
        process = bench.start(*options, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(server.lines("answered")) < goal:
            time.sleep(0.01)
        until = time.monotonic() + chance.uniform(0, 0.05)
        while process.poll() is None and (time.monotonic() < until or not server.in_flight()):
            time.sleep(0.001)
        assert process.poll() is None, f"the run was through before moment {moment}"
        process.kill()
        process.wait()
        kept_at.append((time.time(), bench.journal(), set(bench.records())))
    code, text = bench.finish(*options)
    assert code in (0, 1), text
    for at, journal, finished in kept_at:
        later = [line for line in server.lines() if line["at"] > at]
        assert not {(line["id"], line["turn"], line["step"]) for line in later} & journal
        assert not {line["id"] for line in later} & finished
    processes = 2 if "-n" in more else 1
    lost = sum(server.asked().values()) - len(queries)
    assert 0 < lost <= moments * 4 * processes, "more was lost than could be in flight"
    assert server.asked().keys() == queries.keys()
    assert bench.verdicts() == bench.verdicts("undisturbed")
    whole, pieced = bench.numbers("undisturbed"), bench.numbers()
    for numbers in (whole, pieced):
        numbers.pop("latency")
    assert whole == pieced


@pytest.mark.slow
def test_killed_runs_go_on_where_they_were(bench: Bench) -> None:
    kill_and_continue(bench.with_conversations(4), 3, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize(
    "more",
    [
        ("-m", "single_turn"),
        ("-m", "multi_turn"),
        ("-m", "memory_kv"),
        ("-n", "2", "-m", "single_turn or multi_turn or memory_kv"),
    ],
    ids=["single_turn", "multi_turn", "memory", "two_workers"],
)
def test_killed_at_many_moments(bench: Bench, more: tuple[str, ...], seed: int) -> None:
    """Five moments a run, four runs a kind: each at another place, all with requests in flight."""
    bench.with_conversations(10).with_memories(10)
    kill_and_continue(bench, 5, seed, *more)


def test_damaged_lines_are_named_and_their_entries_run_again(bench: Bench, session) -> None:
    server = bench.serve()
    session("-q").assert_outcomes(passed=ALL)
    results = bench.path / "run" / "results.jsonl"
    lines = results.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:40] + b"\n"  # torn, then written on
    lines[-1] = lines[-1][: len(lines[-1]) // 2]
    results.write_bytes(b"".join(lines))
    (journal,) = (bench.path / "run" / "journal").iterdir()
    replies = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in replies if b'"simple_python_3"' not in line) + b'{"model": "openai')
    server.forget()
    result = session("-q")
    result.assert_outcomes(passed=2, deselected=ALL - 2)
    for line in (4, 40):
        result.stdout.fnmatch_lines([f"bfcl: damaged line: *results.jsonl:{line}: not JSON*its entry runs again"])
    assert [line["id"] for line in server.lines()] == ["simple_python_3"]  # the other reply was in the journal
    assert len(bench.verdicts()) == ALL


FULL = (
    "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
    "import pytest; sys.exit(pytest.console_main())"
)


@pytest.mark.slow
def test_a_file_that_cannot_grow_stops_the_run(bench: Bench) -> None:
    bench.serve()
    command = [sys.executable, "-c", FULL.format(size=24_000), *bench.arguments("-q")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=bench.path, env=environment(), timeout=60)
    assert done.returncode == pytest.ExitCode.INTERRUPTED, done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout
    assert "cannot write to" in done.stdout
    reported = done.stdout.splitlines()[0].count(".")
    records = bench.records()
    assert 0 < reported <= len(records) + 1
    assert {record["outcome"] for record in records.values()} <= {"passed", "error"}
    code, text = bench.finish("-q")
    assert code == 0, text
    assert {outcome for outcome, _ in bench.verdicts().values()} == {"passed"}
    assert len(bench.verdicts()) == ALL


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.parametrize(
    "verb", [pytest.param(False, id="plugin"), pytest.param(True, id="verb", marks=pytest.mark.slow)]
)
def test_a_full_disk_says_so_and_keeps_what_was_reported(bench: Bench, verb: bool) -> None:
    bench.serve()
    disk = bench.path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=56k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        code, text = bench.finish(out="disk/run", verb=verb)
        assert code == pytest.ExitCode.INTERRUPTED, text
        assert "INTERNALERROR" not in text
        assert "the disk is full" in text
        assert "Traceback" not in text
        records = bench.records("disk/run")
        assert 0 < len(records) < ALL
        shutil.copytree(disk / "run", bench.path / "run")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    code, text = bench.finish(verb=verb)
    assert code == 0, text
    assert len(bench.verdicts()) == ALL


@pytest.mark.slow
def test_x_and_maxfail_stop_where_they_should(bench: Bench, session) -> None:
    server = bench.serve({"kind": 400, "ids": "simple_python_[37]$"})
    result = session("-q", "-x", "--bfcl-concurrency=4", "--bfcl-fail-under=simple_python=1")
    result.assert_outcomes(passed=3, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["gates: no verdict*"])
    assert len(server.lines()) < ALL + 1
    server.forget()
    result = session("-q", "--maxfail=2", "--bfcl-concurrency=4", out="second")
    result.assert_outcomes(passed=6, errors=2)
    result = session("-q", out="second")  # what failed runs again, what is missing runs
    result.assert_outcomes(passed=ALL - 8, errors=2, deselected=6)
