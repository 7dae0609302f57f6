"""Without what only POSIX has: every module can be imported, a run of the bundled data gives the same lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

IMPORT_ALL = """
import pkgutil, sys, asyncio, subprocess, multiprocessing, logging, pytest, http.server, urllib.request
import tests.without_posix
import pytest_bfcl
sys.modules["openai"] = None  # a trainer's, too, whose import takes a second
failed = []
for found in pkgutil.walk_packages(pytest_bfcl.__path__, "pytest_bfcl."):
    try:
        __import__(found.name)
    except ModuleNotFoundError as error:  # a trainer's, which loads the module itself
        if error.name in tests.without_posix.MODULES:
            failed.append(f"{found.name}: needs {error.name}")
    except Exception as error:
        failed.append(f"{found.name}: {type(error).__name__}: {error}")
print("\\n".join(failed))
from pytest_bfcl.extensions.serving import process
assert process.os.name == "nt"
assert not hasattr(process.os, "fork")
assert sys.modules["resource"] is None
sys.exit(bool(failed))
"""


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    done = python(tmp_path, "-c", IMPORT_ALL)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_bundled_data_runs_as_elsewhere(tmp_path: Path) -> None:
    """Retired categories too: their worker processes do without limits on memory there."""
    categories = "simple_python,simple_java,multi_turn_base,memory_rec_sum,exec_simple,sql"
    options = f"--model oracle: --bfcl-data bundled --bfcl-categories {categories} -q -p no:cacheprovider".split()
    outcomes = []
    for name, plugin in (("here", []), ("there", ["-p", "tests.without_posix"])):
        done = python(tmp_path, "-m", "pytest", *plugin, *options, "--bfcl-out", name)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = [json.loads(line) for line in (tmp_path / name / "results.jsonl").read_text().splitlines()]
        outcomes.append({(line["id"], line["outcome"], line["reason"]) for line in lines})
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0]) > 80


@pytest.mark.slow
def test_what_needs_posix_says_so(tmp_path: Path) -> None:
    """Engines are started on Linux and macOS only."""
    plugin = ["-p", "tests.without_posix", "-p", "no:cacheprovider"]
    done = python(
        tmp_path, "-m", "pytest", *plugin, "--model", "vllm:x", "--bfcl-serve", "--bfcl-data", "bundled", "-k", "java_1"
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert "start the engine yourself and give --bfcl-base-url" in done.stdout + done.stderr
