"""The Inspect example, played by Inspect itself over the bundled entries."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_example_scores_what_the_benchmark_scores(tmp_path):
    """`make slow` names a Python that has Inspect."""
    python = os.environ.get("BFCL_EXPORTS")
    if not python:
        pytest.skip("no Inspect (name a Python that has it with BFCL_EXPORTS)")
    script = Path(__file__).with_name("inspect_elsewhere.py")
    paths = [ROOT / "examples" / "harnesses", tmp_path, ROOT / "data" / "simple_python.jsonl"]
    done = subprocess.run([python, script, *paths], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name: run["status"] for name, run in found.items()} == dict.fromkeys(found, "success")
    assert all(run["scored"] == run["samples"] > 10 for run in found.values())
    rights = {name: run["right"] / run["samples"] for name, run in found.items()}
    assert rights == {"right": 1.0, "silent": 0.0, "irrelevance": 1.0, "cut": 0.0, "multi_turn": 0.0}
