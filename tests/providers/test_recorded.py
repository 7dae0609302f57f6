"""Recording and replaying of searches and pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.providers.recorded import RecordedSearch


class Counting:
    """Gives another result each time it is asked."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.asked = 0
        self.closed = False

    def search(self, keywords: str, max_results: int, region: str) -> Any:
        self.asked += 1
        return [{"title": f"{self.name}{self.asked}", "href": "h", "body": str(keywords)}]

    def fetch(self, url: str, mode: str) -> dict[str, Any]:
        self.asked += 1
        return {"content": f"{self.name}{self.asked} {url} {mode}"}

    def close(self) -> None:
        self.closed = True


def test_a_replay_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match=r"web search: 'b' is not in the recording") as caught:
        RecordedSearch(tmp_path).search("b", 5, "wt-wt")
    assert caught.value.reason == "adapter:not_recorded"
    assert not list(tmp_path.iterdir())


def test_a_torn_line_is_passed_over(tmp_path: Path) -> None:
    recording = RecordedSearch(tmp_path, Counting())
    recording.search("a", 5, "wt-wt")
    path = tmp_path / "main.jsonl"
    path.write_bytes(path.read_bytes() + b'{"call": ["search", "b", 5, "wt')
    again = RecordedSearch(tmp_path, Counting("again "))
    assert again.search("a", 5, "wt-wt")[0]["title"] == "1"
    again.search("b", 5, "wt-wt")
    again.search("c", 5, "wt-wt")
    replay = RecordedSearch(tmp_path)
    assert [replay.search(word, 5, "wt-wt")[0]["title"] for word in "abc"] == ["1", "again 1", "again 2"]
