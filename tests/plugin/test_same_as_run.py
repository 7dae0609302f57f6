"""`pytest_bfcl.run` and the plugin leave the same results files behind, times aside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.evaluation import run

TIMES = ("started_at", "duration_s", "latency_s", "worker")


def without_times(folder: Path) -> list[dict[str, Any]]:
    """The lines of results.jsonl, ordered by id; every other field as it stands, in the order it stands."""
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    return sorted(
        ({name: value for name, value in line.items() if name not in TIMES} for line in lines),
        key=lambda line: str(line["id"]),
    )


def scores(folder: Path) -> dict[str, Any]:
    """The models' part of summary.json without latencies."""
    models = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["models"]
    return {name: {key: value for key, value in model.items() if key != "latency"} for name, model in models.items()}


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_run_and_plugin_write_the_same_lines(mode: str, tmp_path: Path) -> None:
    run("bundled", f"lexical:@{mode}", categories=["single_turn"], out=tmp_path / "library")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", "single_turn"]
    command += ["--model", f"lexical:@{mode}", "--bfcl-data", "bundled", "--bfcl-out", "plugin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    library, plugin = without_times(tmp_path / "library"), without_times(tmp_path / "plugin")
    assert len(library) > 150
    assert [list(line) for line in library] == [list(line) for line in plugin]
    for ours, theirs in zip(library, plugin, strict=True):
        assert ours == theirs
    assert scores(tmp_path / "library") == scores(tmp_path / "plugin")
