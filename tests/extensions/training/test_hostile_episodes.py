"""Hostile replies through episodes: nothing is executed, nothing is raised, nothing stalls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


def check(count: int, seed: int, limit_s: float) -> None:
    command = [sys.executable, "-m", "tests.extensions.training.hostile_run", str(count), str(seed)]
    finished = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=limit_s, check=False)
    assert finished.returncode == 0, finished.stderr[-3000:]
    found: dict[str, Any] = json.loads(finished.stdout)
    assert found["events"] == []
    assert found["raised"] == []
    assert found["steps"] >= count
    assert found["slowest_s"] < 20


@pytest.mark.slow
def test_a_hundred_hostile_steps() -> None:
    check(100, seed=0, limit_s=300)


@pytest.mark.slow
def test_a_hundred_thousand_hostile_steps() -> None:
    check(100_000, seed=1, limit_s=3_000)
