"""Ways a newcomer installs this: with uv, for one command, beside the SDKs that agents are written with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYTHON = getattr(sys, "_base_executable", sys.executable)
"""The Python this environment was made from: with nothing installed in it."""
LEFT_OUT = ("VIRTUAL_ENV", "PYTHONPATH", "PYTEST_ADDOPTS")
UV = os.environ.get("UV") or shutil.which("uv")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(UV is None, reason="uv is not installed (or named by UV)")]


def uv(*arguments: str, folder: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """uv in a folder, with nothing of this environment but the cache of packages."""
    environment = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    environment |= {"UV_TOOL_DIR": str(folder / "tools"), "PYTEST_BFCL_CACHE": str(folder / "cache"), "COLUMNS": "120"}
    return subprocess.run(
        [str(UV), *arguments], cwd=folder, env=environment, input=text, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = uv("build", "--wheel", "--out-dir", str(folder), str(ROOT), folder=folder)
    if done.returncode != 0 and re.search("network|connect|dns|fetch", done.stderr, re.IGNORECASE):
        pytest.skip(f"no package index: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def test_doctor_runs_without_being_installed(wheel: Path, tmp_path: Path) -> None:
    done = uv("tool", "run", "--python", PYTHON, "--from", str(wheel), "pytest-bfcl", "doctor", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok      pytest-bfcl " in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_model_is_scored_in_an_environment_of_the_moment(wheel: Path, tmp_path: Path) -> None:
    command = "pytest --model lexical: --bfcl-data bundled -m simple_java --tb=no -q"
    done = uv("run", "--no-project", "--python", PYTHON, "--with", str(wheel), *command.split(), folder=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr  # the baseline fails some
    assert re.search(r"^simple_java +\d+ / 13 ", done.stdout, re.MULTILINE), done.stdout
    (place,) = (tmp_path / "reports").iterdir()
    assert (place / "index.html").is_file()


@pytest.mark.skipif(not (shutil.which("make") and shutil.which("git")), reason="needs make and git")
def test_make_bench_works_from_a_fresh_clone(tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tmp_path / "clone")], check=True)
    environment = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    environment["PATH"] = os.pathsep.join([str(Path(str(UV)).parent), environment["PATH"]])
    done = subprocess.run(
        ["make", "bench"], cwd=tmp_path / "clone", env=environment, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.rstrip().splitlines()[-1] == "report: reports/bench/index.html"
    assert (tmp_path / "clone" / "reports" / "bench" / "index.html").is_file()


def resolved(folder: Path, *requirements: str) -> dict[str, str]:
    """Package → release, as a fresh environment would get them."""
    done = uv(
        "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version", "3.11", "-",
        folder=folder, text="\n".join(requirements),
    )  # fmt: skip
    if done.returncode != 0 and len(requirements) == 1:
        pytest.skip(f"{requirements[0]} cannot be had here: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("sdk", ["openai", "openai-agents", "pydantic-ai", "langchain", "smolagents"])
def test_an_agent_library_gets_the_same_releases_beside_us(wheel: Path, tmp_path: Path, sdk: str) -> None:
    """We hold nothing back: what the library installs alone is what it installs beside the core."""
    alone = resolved(tmp_path, sdk)
    beside = resolved(tmp_path, sdk, f"pytest-bfcl @ {wheel.as_uri()}")
    assert {name: beside.get(name) for name in alone} == alone
