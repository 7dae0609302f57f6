"""examples/model-repository: its one documented command works, its gate closes, its files are what they claim to be."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_bfcl.cli import main

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "model-repository"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy, so that runs leave nothing behind."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "repository", ignore=shutil.ignore_patterns("__pycache__", "run*")))


def documented_command(repository: Path) -> list[str]:
    """The first indented command of the README."""
    (command,) = re.findall(r"^    (pytest .*lexical:)$", (repository / "README.md").read_text(), re.MULTILINE)
    return [sys.executable, "-m", *command.split()]


def run(repository: Path, *more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GITHUB_"))}
    return subprocess.run(
        [*documented_command(repository), *more, "-p", "no:cacheprovider"],
        cwd=repository, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_documented_command_passes_the_gate(repository: Path) -> None:
    done = run(repository, "--bfcl-out=run", "--junit-xml=junit.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 xfailed" in done.stdout
    shown = re.search(r"The last lines say what decided:\n\n((?:    .*\n)+)", (repository / "README.md").read_text())
    assert shown is not None
    documented = [line.removeprefix("    ") for line in shown[1].splitlines()]
    assert done.stdout.splitlines()[-len(documented) :] == documented
    assert (repository / "junit.xml").is_file()
    assert (repository / "run" / "index.html").is_file()
    # The same again, against that run.
    again = run(repository, "--bfcl-out=again", "--bfcl-baseline=run,margin=1")
    assert again.returncode == 0, again.stdout
    assert main(["compare", str(repository / "run"), str(repository / "again"), "--fail"]) == 0


@pytest.mark.slow
def test_a_worse_checkpoint_is_stopped(repository: Path) -> None:
    """Recorded answers of a model that never calls anything, in place of the checkpoint."""
    ids = [json.loads(line)["id"] for line in (repository / "benchmark" / "support.jsonl").read_text().splitlines()]
    lines = [{"id": entry_id, "mode": "fc", "model": "lexical:@fc", "output": "Sorry."} for entry_id in ids]
    (repository / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [sys.executable, "-m", "pytest", "benchmark/support.jsonl", "--model", "replay:answers.jsonl"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "gate MISSED: all is 16.67 %, at least 50 % asked for: missed by 33.33 points" in done.stdout
    assert "6 failures that are not expected, 4 that are" in done.stdout
    assert done.stdout.splitlines()[-1] == "gates: FAILED by all=50, expected"
