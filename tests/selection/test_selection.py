"""Selecting by id: both shapes, write stages, unknown ids (data spec §11)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_bfcl.dataset import open_dataset
from pytest_bfcl.failures import UsageError
from pytest_bfcl.selection.selection import read_ids
from tests.dataset.test_loading import CLASS_DOCUMENTS, bundled_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return bundled_folder(tmp_path / "data")


def select(folder: Path, text: str) -> list[str]:
    path = folder.parent / "ids"
    path.write_text(text, encoding="utf-8")
    dataset = open_dataset(folder, documents=lambda name: CLASS_DOCUMENTS[name])
    return [ref.id for ref in read_ids(path, dataset)]


def test_one_id_a_line(folder: Path) -> None:
    text = "# a comment\nsimple_python_1\n\n  live_simple_0-0-0  \nsimple_python_1\n"
    assert select(folder, text) == ["simple_python_1", "live_simple_0-0-0"]


def test_the_shape_of_the_benchmark(folder: Path) -> None:
    selection = {"live_simple": ["live_simple_0-0-0"], "simple_python": ["simple_python_1", "simple_python_0"],
                 "multi_turn_composite": []}  # fmt: skip
    assert select(folder, json.dumps(selection)) == ["simple_python_1", "simple_python_0", "live_simple_0-0-0"]


def test_a_memory_question_brings_its_write_stage(folder: Path) -> None:
    assert select(folder, "simple_python_0\nmemory_kv_0-home-0") == [
        "memory_kv_prereq_0-home-0", "memory_kv_prereq_1-home-1", "simple_python_0", "memory_kv_0-home-0",
    ]  # fmt: skip


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
        ('{"simple_python": ', "is not JSON"),
        ('{"simple_python": "simple_python_0"}', "must hold a list of ids"),
    ],
)
def test_mistakes(folder: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select(folder, text)


def test_a_missing_file(folder: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the ids"):
        read_ids(folder / "absent.txt", open_dataset(folder))
