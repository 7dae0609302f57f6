"""Memory snapshots: names that are safe, short and never shared."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs.snapshots import Snapshots, archive_digest
from pytest_bfcl.transcript import Reply, ToolCall

ODD_IDS = ["../../up", "a/b", "a_b", "a b", "..", ".", "x" * 10_000, "é", "a\\b", "c:d"]


def test_odd_ids_and_scenarios_get_files_of_their_own(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "snapshots")
    for odd in ODD_IDS:
        snapshots.save("kv", odd, odd, {"memory": odd})
    for odd in ODD_IDS:
        assert snapshots.checkpoint("kv", odd) == {"memory": odd}
        assert snapshots.load("kv", odd) == {"memory": odd}
    assert [path.name for path in tmp_path.iterdir()] == ["snapshots"]


def test_a_pipe_in_place_of_a_memory_is_not_waited_for(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    snapshots.save("kv", "student", "memory_kv_prereq_0-student-0", {"a": 1})
    final = snapshots.final_path("kv", "student")
    final.unlink()
    os.mkfifo(final)
    with pytest.raises(HarnessError, match=r"student_final\.json"):
        snapshots.load("kv", "student")
    final.unlink()
    final.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(HarnessError, match="damaged memory snapshot"):
        snapshots.load("kv", "student")


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
