"""``pytest-bfcl run``: the library's run with a command line."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.selection.splits import Split
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings
from tests.extensions.cluster.comparing import scores, stored
from tests.plugin.conftest import question, write_lines


def test_a_run_is_the_librarys_with_report_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--model", "lexical:@fc", "--bfcl-model=lexical:@prompt", "--data", "bundled"]
    words += [
        "--categories",
        "simple_java,irrelevance",
        "--repeat",
        "2",
        "--concurrency=4",
        "-o",
        str(tmp_path / "run"),
    ]
    assert main(words) == 1
    told = capsys.readouterr().out
    assert "simple_java" in told
    assert f"run: {tmp_path / 'run'}" in told
    assert (tmp_path / "run" / "index.html").is_file()
    models = ["lexical:@fc", "lexical:@prompt"]
    categories = ["simple_java", "irrelevance"]
    settings = Settings(repeat=2, concurrency=4)
    run("bundled", models, categories=categories, settings=settings, out=tmp_path / "library")
    assert stored(tmp_path / "run") == stored(tmp_path / "library")
    assert scores(tmp_path / "run") == scores(tmp_path / "library")
    lines = (tmp_path / "run" / "results.jsonl").read_bytes()
    assert main(words) == 1  # a finished run named again asks nothing
    assert (tmp_path / "run" / "results.jsonl").read_bytes() == lines


def test_own_files_and_options_that_become_settings(tmp_path: Path) -> None:
    mine = write_lines(tmp_path / "mine.jsonl", [question("weather_1")])
    more = write_lines(tmp_path / "more.jsonl", [question("weather_2", "Rome")])
    words = ["run", str(mine), str(more), "--model", "oracle:@fc", "--categories", "simple_python", "-o"]
    words += [str(tmp_path / "run"), "--param", "top_p=0.5", "--header", "X-A: b", "--price", "1,2", "--report", "none"]
    assert main([*words, "--temperature", "none"]) == 0
    kept = json.loads((tmp_path / "run" / "run.json").read_text())
    assert set(kept["dataset"]["files"]) == {"mine.jsonl", "more.jsonl"}
    assert kept["models"][0]["parameters"] == {"top_p": 0.5}
    assert not (tmp_path / "run" / "index.html").exists()


def test_parts_of_the_data(tmp_path: Path) -> None:
    """Ids, samples and splits choose what they choose under pytest; a transform puts the chosen entries twice."""
    words = ["run", "--model", "oracle:@fc", "--data", "bundled", "--report", "none", "--concurrency", "auto:8", "-o"]
    (tmp_path / "ids.txt").write_text("simple_java_3\nirrelevance_1\nmemory_kv_0-student-0\n")
    main([*words, str(tmp_path / "ids"), "--ids", str(tmp_path / "ids.txt"), "--transform", "whitespace"])
    ran = {name for name, _, _ in stored(tmp_path / "ids") if "prereq" not in name}
    assert {name.partition("~")[0] for name in ran} >= {"simple_java_3", "irrelevance_1", "memory_kv_0-student-0"}
    assert len(ran) > 3
    some = ["--categories", "simple_java,irrelevance"]
    main([*words, str(tmp_path / "sample"), "--sample", "6", "--seed", "2", *some])
    assert len(stored(tmp_path / "sample")) == 6
    split = tmp_path / "bundled.split.json"
    assert main(["new", "split", "bundled", "--seed", "1", "-o", str(split)]) == 0
    main([*words, str(tmp_path / "part"), "--split", f"{split},trained-on={split}", *some])
    part = set(Split.read(split).ids("test"))
    assert {name for name, _, _ in stored(tmp_path / "part")} == {
        n for n in part if n.startswith(("simple_java_", "irr"))
    }


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed here")
def test_without_ray_the_command_that_installs_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--model", "oracle:", "--data", "bundled", "--ray", "-o", str(tmp_path / "run")]
    assert main(words) == 2
    shown = capsys.readouterr().err
    assert 'pip install "pytest-bfcl[ray]"' in shown
    assert len(shown.splitlines()) <= 5
    assert not (tmp_path / "run").exists()
