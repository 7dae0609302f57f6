"""Runs that end before their time: kill -9, a full disk, -x; and what is left of them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time

import pytest

from .conftest import Bench

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
