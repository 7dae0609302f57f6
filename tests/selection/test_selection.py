"""Selecting by id: both shapes, write stages, unknown ids (data spec §11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.opening import open_dataset, open_files
from pytest_bfcl.failures import UsageError
from pytest_bfcl.selection.selection import JointData, Selection, categories_to_run, entries_to_run, read_ids, stripes
from tests.dataset.test_loading import CLASS_DOCUMENTS, bundled_folder, line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return bundled_folder(tmp_path / "data")


def select(folder: Path, text: str) -> list[str]:
    path = folder.parent / "ids"
    path.write_text(text, encoding="utf-8")
    dataset = open_dataset(folder, documents=lambda name: CLASS_DOCUMENTS[name])
    return [ref.id for ref in read_ids(path, dataset)]


def test_the_shape_of_the_benchmark(folder: Path) -> None:
    selection = {"live_simple": ["live_simple_0-0-0"], "simple_python": ["simple_python_1", "simple_python_0"],
                 "multi_turn_composite": []}  # fmt: skip
    assert select(folder, json.dumps(selection)) == ["simple_python_1", "simple_python_0", "live_simple_0-0-0"]


def test_a_write_stage_brings_the_earlier_ones(folder: Path) -> None:
    assert select(folder, "memory_vector_prereq_1-home-1") == [
        "memory_vector_prereq_1-home-1", "memory_vector_prereq_0-home-0",
    ][::-1]  # fmt: skip


def test_format_sensitivity_ids(folder: Path) -> None:
    name = (
        "format_sensitivity_5:ret_fmt=python&tool_call_tag=False&func_doc_fmt=json&prompt_fmt=plaintext&style=classic"
        ":live_simple_0-0-0"
    )
    assert select(folder, name) == [name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("simple_python_0\nsimple_python_9\nnonsense", "not in the data data: simple_python_9, nonsense;"),
        ("\n".join(f"parallel_{n}" for n in range(30)), "and 20 more"),
        ("memory_0-home-0", "ids are as the reports show them"),
        ("", "names no ids"),
        ('{"simple_python": []}', "names no ids"),
        ('{"simple_python": ', "not JSON"),
        ('{"simple_python": "simple_python_0"}', "must hold a list of ids"),
    ],
)
def test_mistakes(folder: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select(folder, text)


def test_categories_that_are_not_there_are_told(folder: Path) -> None:
    with pytest.raises(UsageError, match="the data data has none of parallel; it has: simple_python, live_simple"):
        categories_to_run(open_dataset(folder), ["parallel"])
    with pytest.raises(UsageError, match="unknown category or group 'simple'"):
        categories_to_run(open_dataset(folder), ["simple"])


def test_a_file_of_entries_without_a_score_was_named_for_them(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text('{"id": "chatable_0", "question": "Hello?"}\n')
    data = open_dataset(tmp_path / "own.jsonl")
    assert categories_to_run(data) == ["chatable"]
    data.official = True
    assert categories_to_run(data) == []


def chosen(folder: Path, part: Any = None, **selection: Any) -> list[str]:
    return [
        ref.id
        for ref in entries_to_run(open_dataset(folder, CLASS_DOCUMENTS.__getitem__), Selection(**selection), part=part)
    ]


def test_what_a_selection_chooses(folder: Path) -> None:
    assert chosen(folder, categories=[]) == []
    assert chosen(folder)[:3] == ["simple_python_0", "simple_python_1", "live_simple_0-0-0"]
    assert chosen(folder, categories=["simple_python"]) == ["simple_python_0", "simple_python_1"]
    named = ["simple_python_1", "live_simple_0-0-0", "memory_kv_0-home-0"]
    assert chosen(folder, ids=named)[-3:] == named, "their write stages come first"
    assert chosen(folder, ids=named, categories=["simple_python"]) == ["simple_python_1"]
    assert chosen(folder, part={"simple_python_1"}) == ["simple_python_1"]
    assert len(chosen(folder, categories=["single_turn"], sample=2)) == 2
    assert chosen(folder, categories=["single_turn"], sample=3) == chosen(folder, categories=["single_turn"])
    assert len(chosen(folder, ids=["memory_kv_0-home-0", "simple_python_0"], sample=1)) == 2 + 1, "stages are beside it"


def test_broken_entries_are_told_whatever_the_sample_is(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(line(f"e_{n}", **({"possible_answer": 5} if n == 3 else {})) + "\n" for n in range(9)))
    found = chosen(path, sample=2)
    assert "e_3" in found
    assert len(found) == 3


def test_a_set_and_files_beside_it_are_one(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(line("mine_0") + "\n")
    data, files = open_dataset(folder), open_dataset(tmp_path / "own.jsonl")
    both = JointData(data, files)
    assert (both.name, both.version, both.root) == ("data+own", data.version, files.root)
    assert both.file_digests == {"data": data.sha256, "own": files.sha256}
    assert both.sha256 not in both.file_digests.values()
    assert [both.entry(name).id for name in ("mine_0", "simple_python_0")] == ["mine_0", "simple_python_0"]
    assert both.clash() is None
    assert both.unread().sha256 == both.sha256
    (tmp_path / "own.jsonl").write_text("\n" + line("live_simple_0-0-0") + "\n")
    several = JointData(data, open_files([tmp_path / "own.jsonl", folder / "simple_python.jsonl"]))
    assert list(several.file_digests) == ["data", "own.jsonl", "simple_python.jsonl"]
    clash = JointData(data, open_dataset(tmp_path / "own.jsonl")).clash()
    assert clash is not None
    assert "live_simple.jsonl:1 and in" in clash
    assert "own.jsonl:2" in clash


def test_stripes_deal_everything_once_and_keep_scenarios_whole() -> None:
    nodeids = [f"bfcl/simple_python.jsonl::simple_python_{number}" for number in range(11)]
    nodeids += [f"bfcl/memory_kv_prereq.jsonl::memory_kv_prereq_{n}-student-{n}" for n in range(3)]
    nodeids += [f"bfcl/memory_kv.jsonl::memory_kv_{n}-student-{n}" for n in range(5)]
    nodeids += [f"bfcl/memory_kv.jsonl::memory_kv_{n}-finance-{n}" for n in range(5, 9)]
    dealt = stripes(nodeids, 3)
    assert sorted(position for stripe in dealt for unit in stripe for position in unit) == list(range(len(nodeids)))
    units = [unit for stripe in dealt for unit in stripe if len(unit) > 1]
    assert sorted(map(len, units)) == [4, 8]
    assert units[0] == sorted(units[0])
    assert stripes(nodeids, 3) == dealt
