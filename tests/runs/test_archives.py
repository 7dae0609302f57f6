"""Runs and their replays are compared by what the outside told them, where both asked it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.snapshots import archive_digest
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, ToolCall


def write(folder: Path, name: str, *lines: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


ONE = {"call": ["search", "tea", 5, "wt-wt"], "result": [{"title": "Tea"}]}
TWO = {"call": ["fetch", "https://tea.example", "raw"], "result": {"content": "hot"}}


def test_a_digest_is_of_content_not_of_files(tmp_path: Path) -> None:
    write(tmp_path / "a", "main.jsonl", ONE, TWO)
    write(tmp_path / "b", "gw0.jsonl", TWO)
    write(tmp_path / "b", "gw1.jsonl", ONE, ONE)
    write(tmp_path / "c", "main.jsonl", ONE)
    digests = [archive_digest(tmp_path / name) for name in "abc"]
    assert digests[0] == digests[1] != digests[2]
    assert archive_digest(tmp_path / "none") is None
    write(tmp_path / "d", "main.jsonl", {"call": ["x"]}, {"result": 1})
    assert archive_digest(tmp_path / "d") is None
    write(tmp_path / "d", "more.jsonl", ONE)
    (tmp_path / "d" / "folder.jsonl").mkdir()
    (tmp_path / "d" / "link.jsonl").symlink_to(tmp_path / "a" / "main.jsonl")
    assert archive_digest(tmp_path / "d") == digests[2]


async def searcher(request: Any) -> Reply:
    """Searches once, then answers."""
    if request.step == 0 and request.entry.category == "web_search_base":
        return Reply(tool_calls=(ToolCall("search_engine_query", '{"keywords": "lighthouse"}'),))
    return Reply(text="An answer.")


searcher.mode = "fc"  # type: ignore[attr-defined]


def test_a_run_and_its_replay_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = open_data("bundled")
    entries = [data.load(ref) for name in ("irrelevance", "web_search_base") for ref in data.index(name)[:2]]
    first, second = tmp_path / "first", tmp_path / "second"
    run(entries, searcher, out=first, settings=Settings(search="record"))
    run(entries, searcher, out=second, settings=Settings(search=f"replay:{first}"))
    assert RunDirectory.open(first).fingerprint.archives == RunDirectory.open(second).fingerprint.archives != {}
    assert main(["compare", str(first), str(second)]) == 0
    assert "0 improved, 0 regressed" in capsys.readouterr().out
