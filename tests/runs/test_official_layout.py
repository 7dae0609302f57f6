from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs import paths
from pytest_bfcl.runs.official_layout import (
    import_official,
    result_files,
    results_of,
)
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.scoring.measurements import is_score_folder, open_measurement, read_scores


@pytest.mark.parametrize(
    ("file", "line", "entry_id", "category"),
    [
        ("BFCL_v3_simple_result.json", {"id": "simple_7"}, "simple_python_7", "simple_python"),
        ("BFCL_v3_java_result.json", {"id": "java_7"}, "simple_java_7", "simple_java"),
        ("BFCL_v3_javascript_result.json", {"id": "javascript_7"}, "simple_javascript_7", "simple_javascript"),
        ("BFCL_v3_live_simple_result.json", {"id": "live_simple_7-1-0"}, "live_simple_7-1-0", "live_simple"),
        ("BFCL_v2_relevance_result.json", {"id": "relevance_7"}, "irrelevance_7", "irrelevance"),
        ("BFCL_v3_multiple_result.json", {"id": "multiple_7"}, "multiple_7", "multiple"),
        ("gorilla_openfunctions_v1_test_simple_result.json", {"idx": 7}, "simple_python_7", "simple_python"),
        ("gorilla_openfunctions_v1_test_executable_simple_result.json", {"idx": 0}, "exec_simple_0", "exec_simple"),
        ("gorilla_openfunctions_v1_test_parallel_function_result.json", {"idx": 0}, "parallel_0", "parallel"),
        ("gorilla_openfunctions_v1_test_parallel_function_result.json", {"id": 4}, "parallel_4", "parallel"),
        ("gorilla_openfunctions_v1_test_parallel_function_result.json", {}, "parallel_0", "parallel"),
    ],
)  # fmt: skip
def test_earlier_releases_have_their_names_mapped(
    file: str, line: dict[str, Any], entry_id: str, category: str, tmp_path: Path
) -> None:
    path = tmp_path / "result" / "some-model" / file
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**line, "result": "[f(x=1)]"}) + "\n")
    damaged: list[Any] = []
    for place in (tmp_path, path):
        (found,) = import_official(place, on_damaged=damaged.append)
        assert (found["id"], found["category"], found["model"]) == (entry_id, category, "some-model")
        said = found.get("official", {}).get("earlier_id")
        assert said is None if line.get("id") == entry_id else said
    (read,) = read_replay_lines(path)
    assert read["id"] == entry_id
    assert damaged == []


def test_what_is_no_result_file(tmp_path: Path) -> None:
    damaged: list[Any] = []
    for name in ("BFCL_v3_nonsense_result.json", "BFCL_v3_simple_result.json", "other_result.json", "x.json"):
        (tmp_path / "m").mkdir(exist_ok=True)
        (tmp_path / "m" / name).write_text('{"id": "simple_1", "result": "x"}\n')
    (tmp_path / "m" / "BFCL_v3_multiple_result.json").mkdir()
    assert [line["id"] for line in import_official(tmp_path, on_damaged=damaged.append)] == ["simple_python_1"]
    assert [(each.path.name, each.line) for each in damaged] == [("BFCL_v3_nonsense_result.json", 1)]
    assert result_files(tmp_path / "m" / "x.json") == []
    for below, folder in (("a/b/c", "up"), ("a/b/c/d", "d")):  # a single file is looked for four folders above
        alone = tmp_path / "up" / "live" / below / "BFCL_v4_multiple_result.json"
        alone.parent.mkdir(parents=True)
        alone.touch()
        assert [name for name, _, _ in result_files(alone)] == [folder]
    with pytest.raises(UsageError, match="holds neither"):
        list(import_official(tmp_path / "m" / "x.json"))
    (tmp_path / "out_result.json").symlink_to("/etc/hostname")
    (tmp_path / "m" / "BFCL_v4_parallel_result.json").symlink_to(__file__)
    assert [file.name for _, _, file in result_files(tmp_path / "m")].count("BFCL_v4_parallel_result.json") == 0
    (tmp_path / "score" / "m").mkdir(parents=True)
    (tmp_path / "result").mkdir()
    assert results_of(tmp_path / "score" / "m") is None
    (tmp_path / "m").rename(tmp_path / "result" / "m")
    assert results_of(tmp_path / "score" / "m") == results_of(tmp_path / "score") == tmp_path / "result"
    assert results_of(tmp_path / "result") == tmp_path / "result"
    assert results_of(tmp_path / "nothing") is None


def test_only_so_many_files_and_folders_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path.joinpath(*"0123456789a")
    deep.mkdir(parents=True)
    for folder in (deep.parent, deep):
        (folder / "BFCL_v4_simple_python_result.json").write_text("")
    assert [file.parent for _, _, file in result_files(tmp_path)] == [deep.parent]
    monkeypatch.setattr(paths, "MOST_LOOKED_AT", 11 + 1)  # what is deeper is not looked at
    assert len(result_files(tmp_path)) == 1
    monkeypatch.setattr(paths, "MOST_LOOKED_AT", 10)
    for read in (result_files, read_scores, open_measurement, is_score_folder):
        with pytest.raises(UsageError, match="holds more than 10 files: name the folder"):
            read(tmp_path)
