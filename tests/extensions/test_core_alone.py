"""The core needs no extension: with the folder deleted it collects, runs, judges, gates, merges and reports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from pytest_bfcl import entry_points

ROOT = Path(__file__).resolve().parents[2]
ASK = ("--model", "oracle:", "--bfcl-data", "bundled", "-p", "no:cacheprovider", "-q", "--bfcl-out")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and its metadata as a distribution without extensions would have them."""
    site = tmp_path_factory.mktemp("site")
    left_out = shutil.ignore_patterns("extensions", "__pycache__", "_bundled")
    shutil.copytree(ROOT / "pytest_bfcl", site / "pytest_bfcl", ignore=left_out)
    shutil.copytree(ROOT / "data", site / "pytest_bfcl" / "_bundled")
    info = site / "pytest_bfcl-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pytest-bfcl\nVersion: 0\n")
    own = (point for point in distribution("pytest-bfcl").entry_points if ".extensions." not in point.value)
    (info / "entry_points.txt").write_text("".join(f"[{p.group}]\n{p.name} = {p.value}\n" for p in own))
    return site


def run(core: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A process whose `pytest_bfcl` is the core."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GITHUB_"))}
    environment |= {"PYTHONPATH": str(core), "PYTEST_BFCL_CACHE": str(core / "cache")}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=core, env=environment, capture_output=True, text=True, timeout=120, check=False)


VERBS = f"""
import sys, pytest, pytest_bfcl
from pytest_bfcl.cli import main
assert pytest.main([*{ASK!r}, "first", "-m", "simple_python or multi_turn_base",
    "--bfcl-fail-under", "simple_python=60"]) == 0
RUN = "run --model oracle: --data bundled --categories simple_python,multi_turn_base --shard"
for words in (
    "--help", f"{{RUN}} 1/2 -o part1", f"{{RUN}} 2/2 -o part2", "merge part1 part2 -o second",
    "report first --data bundled", "models",
):
    code = main(words.split())
    assert code == 0, (words, code)
assert all(verdict["valid"] for verdict in pytest_bfcl.score_lines(open("second/results.jsonl"), "bundled"))
assert not [name for name in sys.modules if name.startswith("pytest_bfcl.extensions")]
"""


def test_the_core_works_with_the_folder_deleted(core: Path) -> None:
    done = run(core, "-c", VERBS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (core / "first" / "index.html").is_file()


def test_what_is_missing_is_said(core: Path) -> None:
    for verb in ("audit", "leaderboard"):
        done = run(core, "-m", "pytest_bfcl", verb)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert f"no verb {verb!r}" in done.stderr
    done = run(core, "-m", "pytest", *[word.replace("oracle:", "lexical:") for word in ASK], "none")
    assert done.returncode == 4
    assert "unknown provider 'lexical'" in done.stderr
    asked = ("openai:gpt", "--bfcl-api", "completions", "--bfcl-base-url", "http://127.0.0.1:1")
    done = run(core, "-m", "pytest", "--model", *asked, "--bfcl-data", "bundled", "-q", "-p", "no:cacheprovider")
    assert "the API completions, whose prompts are rendered here, is not in this installation" in done.stderr
    done = run(core, "-m", "pytest", *ASK, "none", "-k", "simple_java", "--bfcl-verify", "first")
    assert done.returncode == 4
    assert "--bfcl-verify: no installed package offers this gate" in done.stderr
    for words, what in (
        ("--bfcl-serve", "--bfcl-serve"), ("--bfcl-simulators reference", "--bfcl-simulators reference"),
        ("--bfcl-decoder hermes", "the handler's reading of hermes"),
    ):  # fmt: skip
        asked = ("vllm:m", "--bfcl-data", "bundled", *words.split())
        done = run(core, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--model", *asked)
        assert f"{what} is not in this installation" in done.stderr
    (core / "test_own.py").write_text("def test_own(ask): ask('Hello.')\n")
    done = run(core, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_own.py")
    assert "the fixture ask with its recordings is not in this installation" in done.stdout


def test_retired_categories_are_skipped_and_said(core: Path) -> None:
    """Their entries are known; who carries out and judges their calls is not there."""
    done = run(core, "-m", "pytest", *ASK, "retired", "-rs", "--bfcl-categories", "exec_simple,chatable")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "retired categories are judged by an extension that is not installed here" in done.stdout
    assert "24 skipped" in done.stdout


def test_a_declared_part_that_is_gone_is_one_sentence(core: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = core / "pytest_bfcl-0.dist-info" / "entry_points.txt"
    before = info.read_text()
    info.write_text(f"{before}[pytest_bfcl.verbs]\naudit = pytest_bfcl.extensions.lab.auditing.verb\n")
    try:
        done = run(core, "-m", "pytest_bfcl", "audit")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "No module named 'pytest_bfcl.extensions'" in done.stderr
        assert run(core, "-m", "pytest_bfcl", "--help").returncode == 0
    finally:
        info.write_text(before)


def test_the_installed_entry_points_are_the_declared_ones() -> None:
    """After a change of entry points a source checkout has to be installed again: ``pip install -e .``."""
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    for group, points in declared.items():
        kind = group.removeprefix("pytest_bfcl.")
        if kind != group:
            installed = {name: point.value for name, point in entry_points.offered(kind).items()}  # type: ignore[arg-type]
            assert points.items() <= installed.items(), "pip install -e . again: the entry points are of another commit"
