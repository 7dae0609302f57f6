"""The core needs no extension: with the folder deleted it collects, runs, judges, gates, merges and reports."""

from __future__ import annotations

import json
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
    left_out = shutil.ignore_patterns("extensions", "_bundled")  # compiled modules come along
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
assert pytest.main([*{ASK!r}, "first", "-m", "simple_java", "--bfcl-fail-under", "simple_java=60"]) == 0
RUN = "run --model oracle: --data bundled --categories simple_java --shard"
for words in (
    "--help", f"{{RUN}} 1/2 -o part1", f"{{RUN}} 2/2 -o part2", "merge part1 part2 -o second",
    "export report first --data bundled", "models",
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


SAY = """
import contextlib, io, json, sys, pytest
from pytest_bfcl.cli import main
found = []
for program, *words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
        code = main(words) if program == "pytest-bfcl" else pytest.main(["-q", "-p", "no:cacheprovider", *words])
    found.append((int(code), said.getvalue()))
print(json.dumps(found))
"""
BUNDLED = "--bfcl-data bundled --bfcl-out none"
MISSING = (
    ("pytest-bfcl validate audit", 2, "no verb 'validate'"),
    ("pytest-bfcl leaderboard", 2, "no verb 'leaderboard'"),
    (f"pytest --model lexical: {BUNDLED}", 4, "unknown provider 'lexical'"),
    (f"pytest --model openai:gpt --bfcl-api completions --bfcl-base-url http://127.0.0.1:1 {BUNDLED}", 4,
     "the API completions, whose prompts are rendered here, is not in this installation"),
    (f"pytest --model oracle: {BUNDLED} --bfcl-verify first", 4,
     "--bfcl-verify: no installed package offers this gate"),
    (f"pytest --model vllm:m {BUNDLED} --bfcl-serve", 4, "--bfcl-serve is not in this installation"),
    (f"pytest --model vllm:m {BUNDLED} --bfcl-simulators reference", 4,
     "--bfcl-simulators reference is not in this installation"),
    (f"pytest --model vllm:m {BUNDLED} --bfcl-decoder handler:hermes", 4,
     "the handler's reading of hermes is not in this installation"),
    (f"pytest --model oracle: {BUNDLED} -rs --bfcl-categories exec_simple,chatable", 0,  # its entries are known
     "retired categories are judged by an extension that is not installed here … 24 skipped"),
    ("pytest test_own.py", 1, "the fixture ask with its recordings is not in this installation"),
)  # fmt: skip


@pytest.mark.slow
def test_what_is_missing_is_said(core: Path) -> None:
    (core / "test_own.py").write_text("def test_own(ask): ask('Hello.')\n")
    done = run(core, "-c", SAY, json.dumps([line.split() for line, _, _ in MISSING]))
    assert done.returncode == 0, done.stderr
    for (line, code, words), (found, said) in zip(MISSING, json.loads(done.stdout), strict=True):
        assert found == code, (line, said)
        assert [each for each in words.split(" … ") if each not in said] == [], line


def test_a_declared_part_that_is_gone_is_one_sentence(core: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = core / "pytest_bfcl-0.dist-info" / "entry_points.txt"
    before = info.read_text()
    info.write_text(f"{before}[pytest_bfcl.forms]\nvalidate.audit = pytest_bfcl.extensions.lab.audit_verb\n")
    try:
        done = run(core, "-m", "pytest_bfcl", "validate", "audit")
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
