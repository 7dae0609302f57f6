"""Entries of the category recorded: tools that answer as they did then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pytest_bfcl
from pytest_bfcl.conversation.world import UNRECORDED, RecordedTools
from pytest_bfcl.dataset.opening import open_files
from tests.extensions.own.recorded_logs import ABOUT, SCHEMA

ENTRY: dict[str, Any] = {
    "id": "order_0", "category": "recorded", "dialect": "json-schema",
    "question": [[{"role": "user", "content": "Where is 1?"}], [{"role": "user", "content": "And now?"}]],
    "function": [{**ABOUT, "parameters": SCHEMA}],
    "results": [{"call": "find-order", "arguments": {"number": 1}, "result": "packed"},
                {"call": "find_order", "arguments": {"number": 1}, "result": "sent"}],
    "expect": [{"turn": 0, "answer": "packed"}, {"called": "find-order", "count": 2}, {"answer": "sent"}],
    "possible_answer": [["find_order(number=1)"], ["find_order(number=1)"]],
}  # fmt: skip


def entry_of(folder: Path, **changes: Any) -> Any:
    path = folder / "own.jsonl"
    path.write_text(json.dumps({**ENTRY, **changes}) + "\n")
    data = open_files([path])
    return data.load(data.index("recorded")[0])


def test_what_the_tools_give(tmp_path: Path) -> None:
    tools = RecordedTools(entry_of(tmp_path))
    told = [tools.execute(f"find_order({each})") for each in ("number=1.0", "number=2", "number=1", "number=1")]
    assert (told[0], told[2:]) == ("packed", ["sent", "sent"])
    assert UNRECORDED in told[1]
    for wrong in (
        "find_order(number='x')",
        "other()",
        "find_order(1)",
        "import os",
        "find_order(number=1" + "0" * 5000,
    ):
        assert tools.execute(wrong).startswith("Error"), wrong


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_right_way_passes_and_doing_nothing_does_not(tmp_path: Path, mode: str) -> None:
    entry = entry_of(tmp_path)
    assert pytest_bfcl.run([entry], f"oracle:@{mode}").records[0]["outcome"] == "passed"
    (line,) = pytest_bfcl.run([entry], f"adversary:idle@{mode}").records
    assert (line["outcome"], line["reason"]) == ("failed", "agentic:answer_not_found")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"results": [{"call": "other", "result": ""}]}, "not offered"),
        ({"expect": [{"call": "find-order", "equals": 1}]}, "no state"),
        ({"expect": []}, "no expect"),
        ({"function": []}, "no function"),
        ({"mcp": "shop"}, 'category "mcp"'),
    ],
)
def test_what_cannot_be_judged_is_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=told):
        entry_of(tmp_path, **changes)
