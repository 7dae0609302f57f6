"""A whole set is validated: what no single entry tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bfcl.dataset.opening import bundled_root, open_dataset
from pytest_bfcl.extensions.own.validation import validate
from tests.dataset.test_loading import CLASS_DOCUMENTS, bundled_folder, line, write


def test_memory_without_a_write_stage(tmp_path: Path) -> None:
    root = bundled_folder(tmp_path)
    (root / "memory_prereq" / "home.jsonl").unlink()
    dataset = open_dataset(root, documents=CLASS_DOCUMENTS.__getitem__)
    found = validate(dataset, ["memory_kv"])
    assert [(problem.severity, problem.entry_id) for problem in found] == [("warning", "memory_kv_0-home-0")]


def test_broken_lines_come_along(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", line("a"), "{")
    assert [problem.line for problem in validate(open_dataset(path))] == [2]
    path = write(tmp_path / "own.jsonl", "{")
    assert [problem.line for problem in validate(open_dataset(path))] == [1]


def test_an_empty_set_is_a_problem(tmp_path: Path) -> None:
    (problem,) = validate(open_dataset(write(tmp_path / "own.jsonl", "")))
    assert problem.message == "the file holds no entries"


def test_the_bundled_single_turn_data_is_fine() -> None:
    if bundled_root() is None:
        pytest.skip("no bundled data in this checkout")
    dataset = open_dataset("bundled")
    single = [name for name in dataset.categories() if name.split("_")[0] not in ("multi", "memory", "web", "format")]
    assert validate(dataset, single) == []
