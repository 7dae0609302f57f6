"""docs/own-entries.md: every entry on the page is used as the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_bfcl.cli import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "own-entries.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lamps.py").write_text(blocks("python")[0])
    (tmp_path / "conftest.py").write_text("import lamps\n")
    (tmp_path / "shop_server.py").write_text(blocks("python")[1])
    (tmp_path / "own.jsonl").write_text("".join(blocks("jsonl")))
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "bridge.html").write_text("<title>Bridge</title><p>The bridge of Riga was opened in 2008.</p>")
    return tmp_path


def test_every_kind_of_entry_is_shown() -> None:
    categories = {json.loads(line).get("category") for block in blocks("jsonl") for line in block.splitlines()}
    several = ("multi_turn_base", "web_search_base", "mcp", "recorded")
    assert categories == {None, "parallel", "irrelevance", "live_relevance", *several}


@pytest.mark.slow
def test_the_entries_are_fine_and_the_oracle_passes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    server = f"shop={sys.executable} shop_server.py"
    assert main(["validate", "own.jsonl", "--simulator", "lamps:Lamps", "--strict", "--mcp", server]) == 0, (
        capsys.readouterr().out
    )
    assert main(["validate", "own.jsonl", "--simulator", "lamps:Absent"]) == 2
    words = "-m pytest -q own.jsonl --model oracle: --bfcl-search=local --bfcl-mcp"
    command = [sys.executable, *words.split(), server]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "8 passed" in done.stdout
