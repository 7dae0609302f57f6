"""Users' mistakes on the command line: one message, exit code 2, no traceback, nothing overwritten."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.evaluation import run
from pytest_bfcl.settings import Settings

ODD_LINES = [
    '{"id":', "[]", '{"id": 7}', '{"id": "x", "category": "nosuch"}', '{"id": "x", "category": ["irrelevance"]}',
    '{"id": "x", "model": {}}', '{"id": "x", "repeat": "x"}', '{"id": "x", "outcome": "zzz"}',
    '{"id": "x", "latency_s": "x"}', '{"id": "x", "input_tokens": [[["x"]]]}', '{"id": "x", "cost_usd": [1]}',
    '{"id": "x", "detail": "x"}', '{"id": "x", "extra": 7}',
]  # fmt: skip


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    """A copy of the prepared folder."""
    return shutil.copytree(prepared, tmp_path / "copy")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a good run, one with odd lines, one of another time, a file and a folder of something else."""
    tmp_path = tmp_path_factory.mktemp("mistakes")
    entry = {"id": "irrelevance_1", "question": [[{"role": "user", "content": "x"}]], "function": []}
    tmp_path.joinpath("own.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    for name in ("good", "odd"):
        run(tmp_path / "own.jsonl", "oracle:", out=tmp_path / name, settings=Settings(), categories=["irrelevance"])
    with tmp_path.joinpath("odd", "results.jsonl").open("a", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in ODD_LINES))
    for name, content in (("corrupt", "{broken"), ("strange", '{"dataset": 7}'), ("listed", "[1]")):
        tmp_path.joinpath(name).mkdir()
        tmp_path.joinpath(name, "run.json").write_text(content, encoding="utf-8")
    tmp_path.joinpath("other").mkdir()
    tmp_path.joinpath("other", "file.txt").write_text("hi", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("verb", ["compare", "leaderboard", "merge", "export", "report", "score", "validate"])
@pytest.mark.parametrize("name", ["nosuch", "corrupt", "strange", "listed", "other"])
def test_what_is_no_run_is_said_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str, name: str
) -> None:
    out = ["-o", str(folder / "made")] if verb in ("leaderboard", "merge", "export") else []
    assert main([verb, str(folder / name), *out]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith(f"pytest-bfcl {verb}: ")
    assert "\n" not in said
    assert not (folder / "made").exists()


@pytest.mark.parametrize("verb", ["leaderboard", "merge", "export"])
@pytest.mark.parametrize("out", ["own.jsonl", "own.jsonl/below"])
def test_a_file_in_the_way_of_a_folder(folder: Path, capsys: pytest.CaptureFixture[str], verb: str, out: str) -> None:
    before = folder.joinpath("own.jsonl").read_bytes()
    assert main([verb, str(folder / "good"), "-o", str(folder / out)]) == 2
    assert "own.jsonl" in capsys.readouterr().err
    assert folder.joinpath("own.jsonl").read_bytes() == before


def test_a_leaderboard_does_not_replace_a_runs_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", str(folder / "good"), "-o", str(folder / "good")]) == 2
    assert "choose another folder" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["compare", "leaderboard", "merge", "report"])
def test_odd_result_lines_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    out = ["-o", str(folder / "made")] if verb in ("leaderboard", "merge") else []
    runs = [str(folder / "odd")] + ([str(folder / "good")] if verb == "compare" else [])
    assert main([verb, *runs, *out]) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert f"13 damaged lines of {folder / 'odd' / 'results.jsonl'} left out, the first: line " in said
    if verb in ("compare", "leaderboard"):
        assert "--allow-missing" in said
        assert main([verb, *runs, *out, "--allow-missing"]) == 0
