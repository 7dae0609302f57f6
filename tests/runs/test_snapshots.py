"""Memory snapshots: names that are safe, short and never shared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs.snapshots import Snapshots

ODD_IDS = ["../../up", "a/b", "a_b", "a b", "..", ".", "x" * 10_000, "é", "a\\b", "c:d"]


def test_official_names_stay_as_they_are(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    assert snapshots.checkpoint_path("kv", "memory_kv_prereq_3-student-0").name == "memory_kv_prereq_3-student-0.json"
    assert snapshots.final_path("kv", "student").name == "student_final.json"


def test_odd_ids_and_scenarios_get_files_of_their_own(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "snapshots")
    for odd in ODD_IDS:
        snapshots.save("kv", odd, odd, {"memory": odd})
    for odd in ODD_IDS:
        assert snapshots.checkpoint("kv", odd) == {"memory": odd}
        assert snapshots.load("kv", odd) == {"memory": odd}
    assert [path.name for path in tmp_path.iterdir()] == ["snapshots"]


@pytest.mark.parametrize("backend", ["../kv", "..", "k/v"])
def test_a_backend_stays_inside(tmp_path: Path, backend: str) -> None:
    assert (tmp_path / "s") in Snapshots(tmp_path / "s").final_path(backend, "x").resolve().parents


def test_a_pipe_in_place_of_a_memory_is_not_waited_for(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    snapshots.save("kv", "student", "memory_kv_prereq_0-student-0", {"a": 1})
    final = snapshots.final_path("kv", "student")
    final.unlink()
    os.mkfifo(final)
    with pytest.raises(HarnessError, match=r"student_final\.json"):
        snapshots.load("kv", "student")
    final.unlink()
    final.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(HarnessError, match="damaged memory snapshot"):
        snapshots.load("kv", "student")
