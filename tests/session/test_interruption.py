"""Runs that end before their time: kill -9, a full disk, -x, SIGTERM and Ctrl-C at any moment; what is left of them."""

from __future__ import annotations

import functools
import inspect
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_bfcl.plugin.session_end import Termination
from tests.patience import patience

from .conftest import Bench, Server

ALL = 40


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
        if process.poll() is not None and moment > 1:  # through already: a quick machine
            break
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


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.slow
@pytest.mark.parametrize("verb", [False, True], ids=["plugin", "verb"])
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


def test_an_interruption_waits_for_an_instruction_that_has_a_line() -> None:
    """pytest cannot show another one: it ended in a TypeError."""
    termination = Termination()
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        with termination._raising():
            termination._signalled(signal.SIGTERM, cast("Any", SimpleNamespace(f_lineno=None)))
            assert not termination.was_requested
            until = time.monotonic() + patience(5)
            while not came and time.monotonic() < until:
                time.sleep(0.005)
            assert came == [signal.SIGTERM]
            with pytest.raises(KeyboardInterrupt):
                termination._signalled(signal.SIGTERM, inspect.currentframe())
    finally:
        signal.signal(signal.SIGTERM, before)


MOMENTS = 20
DOORS = ("plugin", "workers", "verb")
FAST = ("plugin", 9)


def start(bench: Bench, door: str, *more: str) -> subprocess.Popen[str]:
    """A run through one of the doors, eight requests at a time."""
    if door == "workers":
        more += ("-n", "2")
    return bench.start("--bfcl-concurrency=8", *more, verb=door == "verb")


def wait_for(server: Server, answered: int, run: Path) -> None:
    """Until so many requests were answered, and the run has its directory."""
    until = time.monotonic() + patience(60)
    while len(server.lines("answered")) < answered or not (run / "run.json").exists():
        assert time.monotonic() < until, "the run does not get going"
        time.sleep(0.005)


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Exit code and output after a signal."""
    process.send_signal(number)
    text, _ = process.communicate(timeout=patience(60))
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    return process.returncode, text


@pytest.mark.parametrize(
    ("door", "moment"),
    [
        pytest.param(door, moment, marks=() if (door, moment) == FAST else pytest.mark.slow)
        for door in DOORS
        for moment in range(MOMENTS)
    ],
)
def test_there_is_always_a_summary_and_nothing_is_paid_twice(bench: Bench, door: str, moment: int) -> None:
    """From before the first reply to after the last one, every third time with Ctrl-C."""
    server = bench.serve(delay=0.15)
    process = start(bench, door)
    goal = min(moment * 3, ALL)
    wait_for(server, goal, bench.path / "run")
    if goal == ALL:  # somewhere in the end of the run
        time.sleep((moment - ALL // 3) * 0.05)
    code, text = ended(process, signal.SIGINT if moment % 3 == 2 else signal.SIGTERM)
    kept = bool(bench.records())
    state = bench.summary()["fingerprint"]["state"]
    if goal < ALL - 8:
        assert (code, state) == (2, "stopped:interrupted"), text
        assert "to resume" in text
        assert "results are kept" in text or not kept
    else:  # it may have been over, or as good as over
        assert state in ("finished", "stopped:interrupted")
        assert code == 2 or (state == "finished" and code in (0, -signal.SIGTERM, -signal.SIGINT)), text
    process = start(bench, door)
    process.communicate(timeout=patience(60))
    assert process.returncode in (0, 5)  # pytest's, where nothing is left to ask
    assert {outcome for outcome, _ in bench.verdicts().values()} == {"passed"}
    assert len(bench.verdicts()) == ALL
    assert set(server.asked().values()) == {1}


@pytest.mark.parametrize("door", [pytest.param(door, marks=pytest.mark.slow) for door in DOORS[:2]] + ["verb"])
@pytest.mark.slow
def test_a_second_signal_waits_for_no_reply(bench: Bench, door: str) -> None:
    server = bench.serve({"kind": "slow", "seconds": 60, "ids": "multiple"})
    process = start(bench, door, "--bfcl-timeout=grace=50")
    wait_for(server, 30, bench.path / "run")
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    time.sleep(1.5)
    assert process.poll() is None
    began = time.monotonic()
    code, text = ended(process, signal.SIGTERM)
    assert time.monotonic() - began < 20
    assert code == 2, text
    assert bench.summary()["fingerprint"]["state"] == "stopped:interrupted"


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_signals_to_the_whole_group_are_one(bench: Bench, door: str) -> None:
    """``timeout`` sends it to the process, and to its group."""
    server = bench.serve(delay=0.3)
    process = start(bench, door)
    wait_for(server, 8, bench.path / "run")
    for pid in (process.pid, *children_of(process.pid)):
        os.kill(pid, signal.SIGTERM)
    code, text = ended(process, signal.SIGTERM)
    assert code == 2, text
    process = start(bench, door)
    process.communicate(timeout=patience(60))
    assert (process.returncode, set(server.asked().values())) == (0, {1})


@pytest.mark.slow
def test_a_job_that_a_shell_started_in_the_background_ends_too(bench: Bench) -> None:
    """It ignores Ctrl-C; a scheduler that ends it loses nothing."""
    ignored = functools.partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    server = bench.serve(delay=0.3)
    process = bench.start("--bfcl-concurrency=8", verb=True, preexec_fn=ignored)
    wait_for(server, 8, bench.path / "run")
    code, text = ended(process, signal.SIGTERM)
    assert (code, "to resume: the same command with -o run" in text) == (2, True), text


def children_of(pid: int) -> list[int]:
    """The processes that a process started."""
    return [
        int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()
    ]
