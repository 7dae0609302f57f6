"""A whole run of the official data at full load, against a server that fails in eight ways at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_bfcl.dataset.loading import DataSet

from .conftest import Bench, Server
from .test_faults import KINDS

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
