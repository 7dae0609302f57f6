"""Nothing a model writes reaches the interpreter, files, processes or the network: as calls, in whole conversations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def found_by(module: str, count: int, seed: int) -> dict[str, Any]:
    """What a process of that module tells, after what holds for each of them."""
    command = [sys.executable, "-m", module, str(count), str(seed)]
    finished = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=3000, check=False)
    assert finished.returncode == 0, finished.stderr[-3000:]
    found: dict[str, Any] = json.loads(finished.stdout)
    assert found["events"] == []
    return found


@pytest.mark.parametrize(
    ("count", "seed"), [(200, 0), pytest.param(100_000, 1, marks=pytest.mark.slow, id="a_hundred_thousand")]
)
def test_hostile_texts_give_one_error_text_each_and_touch_nothing(count: int, seed: int) -> None:
    found = found_by("tests.simulators.hostile_run", count, seed)
    assert found["texts"] >= count
    assert found["accepted"] == [], "hostile texts that were carried out"
    assert found["not_text"] == []
    assert found["changed"] is False, "a refused text changed the state"
    assert found["slowest_s"] < 5, found["slowest_text"]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "seed"), [(200, 0), (100_000, 1)])
def test_hostile_replies_through_conversations_break_and_stall_nothing(count: int, seed: int) -> None:
    found = found_by("tests.multi_turn.hostile_run", count, seed)
    assert found["raised"] == []
    assert found["texts"] >= count
    assert found["slowest_s"] < 20, found["slowest"]
