"""The core without any extra: it runs, imports nothing of them, and says the one command where one is needed."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl import extras
from pytest_bfcl.cli import main
from pytest_bfcl.extensions.own.openapi import documents_of_openapi
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
        assert re.search(rf'{count} entries will be skipped .*pip install "pytest-bfcl\[{extra}\]"', asked), shown
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


def test_what_else_needs_an_extra_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("yaml", "rank_bm25", "mcp"):
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
    heavy = {"litellm", "numpy", "scipy", "rank-bm25", "html2text", "beautifulsoup4", "pytest-html", "rich"}
    assert not names & heavy


OF_USERS = {
    "bfcl_eval",
    "fastapi",
    "openai",
    "openenv",
    "sentence_transformers",
    "skyrl_gym",
    "trl",
    "verifiers",
    "verl",
}
"""Modules of packages that users bring: what they import only where the user's own library is at work."""
PARTS = {
    "_pytest": "pytest", "annotated_types": "pydantic", "execnet": "pytest-xdist", "markupsafe": "jinja2",
    "pydantic_core": "pydantic",
}  # fmt: skip
"""Module → the package that always brings it along."""
LOOKS_LIKE_IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
FOR_DEVELOPERS = ("browser", "dev", "docs", "release")


def imports_of(source: str) -> set[str]:
    """The top modules that a text imports anywhere, relative imports and the standard library left out."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names


def undeclared(sources: Iterable[Path], project: Mapping[str, Any]) -> set[str]:
    """``file: module`` for imports that neither the dependencies nor an extra for users brings."""
    extras_of_users = {k: v for k, v in project["optional-dependencies"].items() if k not in FOR_DEVELOPERS}
    wanted = [*project["dependencies"], *chain.from_iterable(extras_of_users.values())]
    declared = {re.split(r"[\[<>=!~; ]", requirement)[0].lower() for requirement in wanted}
    providers = packages_distributions()
    known = OF_USERS | {"pytest_bfcl"} | sys.stdlib_module_names

    def is_declared(name: str) -> bool:
        brought = (PARTS.get(name, name), *providers.get(name, ()))
        return name in known or bool(declared & {each.lower().replace("_", "-") for each in brought})

    found = set()
    for path in sources:
        text = path.read_text(encoding="utf-8")
        if not all(map(is_declared, LOOKS_LIKE_IMPORT.findall(text))):  # parsing every file takes seconds
            found |= {f"{path.name}: {name}" for name in imports_of(text) if not is_declared(name)}
    return found


def test_every_import_is_declared(tmp_path: Path) -> None:
    """What a linter or another tool happens to bring is not there for users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not undeclared((ROOT / "pytest_bfcl").rglob("*.py"), project)
    planted = tmp_path / "planted.py"
    planted.write_text("import yaml, os\ndef f():\n    from rich.table import Table\n    import scipy.stats as s\n")
    assert undeclared([planted], project) == {"planted.py: rich", "planted.py: scipy"}
