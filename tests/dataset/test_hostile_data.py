"""A user's data with anything in any field: one typed error per entry, never more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import EntryRef
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.simulators import documents_of

RING = {"name": "ring", "description": "Ring.", "parameters": {"type": "dict", "properties": {}, "required": []}}
SAID = [[{"role": "user", "content": "Ring the bell."}]]
ODD: list[Any] = [
    None, 0, -1, 1e308, True, "", "x", "\ud800", [], [None], [[]], [[[]]], [[{}]], [{}], {}, {"a": {}}, {"": ""},
    {"a": [{"b": None}]}, [1, "a", None], [[["a"]]], [[{"role": "user"}]], [[{"role": 1, "content": [1]}]],
    [{"name": None}], [{"name": "ring", "parameters": []}], [{"name": "ring", "parameters": {"properties": []}}],
    [{"ring": None}], [{"ring": {"times": None}}], "9" * 100, {"0": "x"}, {"x": ["ring"]},
]  # fmt: skip
ENTRIES: dict[str, dict[str, Any]] = {
    "simple_python": {"function": [RING], "possible_answer": [{"ring": {}}], "language": "python",
                      "return_format": "python", "doc_format": "json"},
    "multi_turn_base": {"involved_classes": ["GorillaFileSystem"], "initial_config": {"GorillaFileSystem": {}},
                        "possible_answer": [["ls()"]], "missed_function": {"0": ["ls"]}},
    "memory_kv": {"scenario": "student", "possible_answer": ["x"]},
    "web_search_base": {"possible_answer": ["x"], "num_hops": 2},
    "format_sensitivity": {"function": [RING], "possible_answer": [{"ring": {}}], "config": None},
}  # fmt: skip


@pytest.mark.parametrize("category", ENTRIES)
def test_any_value_in_any_field_gives_an_entry_or_one_error(tmp_path: Path, category: str) -> None:
    whole = {"question": SAID, **ENTRIES[category]}
    path = tmp_path / "own.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for field in whole:
            for number, value in enumerate(ODD):
                line = {"id": f"{field}-{number}", "category": category, **whole, field: value}
                file.write(json.dumps(line) + "\n")
    data = open_dataset(path, documents_of)
    refs = data.index(category)
    assert len(refs) == len(whole) * len(ODD)
    errors = [error for ref in refs if (error := error_of(data, ref)) is not None]
    assert {error.kind for error in errors} <= {"data"}
    assert [e.message for e in errors if "own.jsonl:" not in e.message and "no tool documents" not in e.message] == []


def error_of(data: DataSet, ref: EntryRef) -> HarnessError | None:
    """What loading says against an entry, if anything."""
    try:
        data.load(ref)
    except HarnessError as error:
        return error
    return None


@pytest.mark.parametrize("entry_id", ["\x00", "a\nb", "\ud800", "\x1b[31m", "\u2028", 7, None, "", [], True])
def test_an_id_nothing_can_name_is_a_problem_of_its_line(tmp_path: Path, entry_id: Any) -> None:
    path = tmp_path / "own.jsonl"
    lines = [{"id": entry_id, "question": SAID}, {"id": "fine_1", "question": SAID}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    data = open_dataset(path)
    assert [ref.id for ref in data.index("simple_python")] == ["fine_1"]
    (problem,) = data.problems("simple_python")
    assert problem.line == 1
    assert str(problem).isprintable()


@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b"\xff\xfe\x00", b"[" * 50_000 + b"\n", b'{"id":', b"\xef\xbb\xbf", bytes(range(256))]
)
def test_a_file_that_is_no_data_has_problems_only(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(content)
    data = open_dataset(path)
    assert not data.index("simple_python")
    assert all(problem.path == path for problem in data.problems("simple_python"))
