"""Hostile replies through episodes: nothing is executed, nothing is raised, nothing stalls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "limit_s"), [(100, 300), (100_000, 3_000)])
def test_hostile_steps(count: int, limit_s: float) -> None:
    command = [sys.executable, "-m", "tests.extensions.training.hostile_run", str(count), str(count)]
    finished = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=limit_s, check=False)
    assert finished.returncode == 0, finished.stderr[-3000:]
    found: dict[str, Any] = json.loads(finished.stdout)
    assert found["events"] == []
    assert found["raised"] == []
    assert found["steps"] >= count
    assert found["slowest_s"] < 20
