"""SIGTERM and Ctrl-C at any moment, in plugin, workers and verb: always a summary, and nothing is paid twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import Bench, Server

ALL = 40
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
    until = time.monotonic() + 60
    while len(server.lines("answered")) < answered or not (run / "run.json").exists():
        assert time.monotonic() < until, "the run does not get going"
        time.sleep(0.005)


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Exit code and output after a signal."""
    process.send_signal(number)
    text, _ = process.communicate(timeout=60)
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
    state = bench.summary()["fingerprint"]["state"]
    if goal < ALL - 8:
        assert (code, state) == (2, "stopped:interrupted"), text
        assert "results are kept" in text
    else:  # it may have been over, or as good as over
        assert state in ("finished", "stopped:interrupted")
        assert code == 2 or (state == "finished" and code in (0, -signal.SIGTERM, -signal.SIGINT)), text
    process = start(bench, door)
    process.communicate(timeout=60)
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
    process.communicate(timeout=60)
    assert (process.returncode, set(server.asked().values())) == (0, {1})


def children_of(pid: int) -> list[int]:
    """The processes that a process started."""
    return [
        int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()
    ]
