"""Nothing a model writes as a call reaches the interpreter, files, processes or the network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def run(count: int, seed: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.simulators.hostile_run", str(count), str(seed)]
    finished = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=600, check=False)
    assert finished.returncode == 0, finished.stderr[-3000:]
    return json.loads(finished.stdout)


def check(found: dict[str, Any], count: int) -> None:
    assert found["texts"] >= count
    assert found["events"] == []
    assert found["accepted"] == [], "hostile texts that were carried out"
    assert found["not_text"] == []
    assert found["changed"] is False, "a refused text changed the state"
    assert found["slowest_s"] < 5, found["slowest_text"]


def test_hostile_texts_give_one_error_text_each_and_touch_nothing() -> None:
    check(run(200, seed=0), 300)


@pytest.mark.slow
def test_a_hundred_thousand_generated_texts_touch_nothing() -> None:
    check(run(100_000, seed=1), 100_000)
