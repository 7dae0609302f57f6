"""The core without any extra: it runs, imports nothing of them, and says the one command where one is needed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from pytest_bfcl import extras
from pytest_bfcl.cli import main
from pytest_bfcl.dataset.tools.openapi import documents_of_openapi
from pytest_bfcl.failures import UsageError
from pytest_bfcl.simulators import create_simulator
from pytest_bfcl.training import tasks, trl, verl
from tests.distributed import WORKERS

ROOT = Path(__file__).resolve().parents[1]
CATEGORIES = "simple_python,simple_java,simple_javascript,multi_turn_base,memory,web_search_base,exec_simple,rest,sql"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest in processes that have none of the extras' modules."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
    environment.pop("PYTEST_ADDOPTS", None)
    plugins = [
        f"-p{name}" for name in ("tests.without_extras", "pytest_bfcl.plugin", "xdist.plugin", "no:cacheprovider")
    ]
    command = [sys.executable, "-m", "pytest", *plugins, "--bfcl-data", "bundled", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("processes", WORKERS)
def test_the_core_runs_and_says_what_it_skips(tmp_path: Path, processes: tuple[str, ...]) -> None:
    done = run(tmp_path, "--model", "oracle:", "--bfcl-categories", CATEGORIES, "--bfcl-out", "run", *processes)
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown
    for extra, count in (("memory", 55), ("embeddings", 55), ("web", 20)):
        asked = shown.partition(".jsonl")[0] if not processes else shown
        assert re.search(rf'{count} entries will be skipped: .*pip install "pytest-bfcl\[{extra}\]"', asked), shown
        assert re.search(rf'{count} entries skipped: .*pip install "pytest-bfcl\[{extra}\]"', shown), shown
    assert not re.search(r"Traceback|ImportError|ModuleNotFoundError", shown)
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    passed = Counter(line["category"] for line in lines if line["outcome"] == "passed")
    assert {"memory_rec_sum", "simple_java", "simple_javascript", "exec_simple", "rest", "sql"} < set(passed)


@pytest.mark.parametrize("spec", ["gemini:gemini-2.5-pro", "litellm:mistral/small", "bedrock:x"])
def test_a_provider_of_litellm_is_refused_with_the_command(
    tmp_path: Path, spec: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    assert main(["models", "--model", spec]) == 2
    said = capsys.readouterr().err
    assert 'pip install "pytest-bfcl[litellm]"' in said
    assert len(said.splitlines()) <= 5


def test_it_is_refused_before_the_first_request(tmp_path: Path) -> None:
    done = run(tmp_path, "--model", "gemini:gemini-2.5-pro", "-q", "-k", "simple_python_1")
    assert done.returncode == 4, done.stdout
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    assert any('pip install "pytest-bfcl[litellm]"' in line for line in said)
    assert len(said) <= 5, said
    assert not list(tmp_path.glob("reports/*"))


def test_what_else_needs_an_extra_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("yaml", "rank_bm25", "mcp", "httpx"):
        monkeypatch.setitem(sys.modules, name, None)
    document = tmp_path / "petstore.yaml"
    document.write_text("openapi: 3.0.0\npaths: {}\n")
    with pytest.raises(UsageError, match=r'petstore\.yaml.*pip install "pytest-bfcl\[yaml\]"'):
        documents_of_openapi(document)
    with pytest.raises(UsageError, match=r'pip install "pytest-bfcl\[memory\]"'):
        create_simulator("MemoryAPI_kv")
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    assert main(["mcp", "TicketAPI", "--http", "0"]) == 2
    for name in ("datasets", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    rows = tasks("bundled", categories=["simple_java"])
    with pytest.raises(UsageError, match=r'pip install "pytest-bfcl\[train\]"'):
        trl.dataset(rows)
    with pytest.raises(UsageError, match=r'pip install "pytest-bfcl\[tables\]"'):
        verl.write_parquet(rows, tmp_path / "rows.parquet")


def test_doctor_names_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    assert main(["doctor"]) == 0
    assert 'pip install "pytest-bfcl[litellm]"' in capsys.readouterr().out


def test_the_table_is_that_of_the_project_file() -> None:
    """Every extra with modules exists, and every extra that brings packages of its own is in the table."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["optional-dependencies"]
    assert set(extras.EXTRAS) <= set(declared)
    joined = re.fullmatch(r"pytest-bfcl\[(.*)\]", declared["all"][0])
    assert joined is not None
    assert set(joined[1].split(",")) <= set(declared)
    names = {re.split(r"[<>=!~\[; ]", requirement)[0] for requirement in project["dependencies"]}
    heavy = {"litellm", "numpy", "scipy", "httpx", "rank-bm25", "html2text", "beautifulsoup4", "pytest-html", "rich"}
    assert not names & heavy
