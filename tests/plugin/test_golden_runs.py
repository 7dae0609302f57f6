"""Recorded outputs through the command lines a user types: the same counts and error types as the reference's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.golden


def manifest(golden_dir: Path) -> dict[str, Any]:
    return json.loads((golden_dir / "real_outputs" / "MANIFEST.json").read_text())


@pytest.mark.slow
@pytest.mark.usefixtures("official_dir")
@pytest.mark.parametrize(("config", "mode"), [("gpt-4o-2024-08-06-FC", "fc"), ("gpt-4-0613", "prompt")])
def test_replay_under_pytest_counts_as_the_reference(config: str, mode: str, golden_dir: Path, tmp_path: Path) -> None:
    replayed = golden_dir / "real_outputs" / f"{config}.jsonl.gz"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "-r",
        "N",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
    ]
    command += ["--model", f"replay:{replayed}", "--bfcl-data", "official", "-m", "non_live", "--bfcl-out", "run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert list(summary["models"]) == [f"replay:{config}@{mode}"]
    assert [(model["model"], model["mode"]) for model in summary["fingerprint"]["models"]] == [
        (f"replay:{config}@{mode}", mode)
    ]
    found = summary["models"][f"replay:{config}@{mode}"]
    recorded = manifest(golden_dir)["configs"][config]
    assert recorded["mode"] == mode
    wanted = {name: (row["count"], row["correct"]) for name, row in recorded["categories"].items()}
    judged = {name: (row["passed"] + row["failed"], row["passed"]) for name, row in found["categories"].items()}
    assert judged == wanted
    reasons: Counter[str] = Counter()
    for row in recorded["categories"].values():
        reasons.update(row["error_types"])
    reasons["adapter:not_recorded"] = len(manifest(golden_dir)["excluded_ids"])
    assert Counter(found["reasons"]) == reasons
