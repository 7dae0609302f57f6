"""Users' mistakes on the command line: one message, exit code 2, no traceback, nothing overwritten."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings

ODD_LINES = [
    '{"id":', "[]", '{"id": 7}', '{"id": "x", "category": "nosuch"}', '{"id": "x", "category": ["irrelevance"]}',
    '{"id": "x", "model": {}}', '{"id": "x", "repeat": "x"}', '{"id": "x", "outcome": "zzz"}',
    '{"id": "x", "latency_s": "x"}', '{"id": "x", "input_tokens": [[["x"]]]}', '{"id": "x", "cost_usd": [1]}',
    '{"id": "x", "detail": "x"}', '{"id": "x", "extra": 7}',
]  # fmt: skip


def files_of(folder: Path) -> dict[Path, int]:
    """The files below a folder, but for locks, with their times."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.fixture
def folder(prepared: Path) -> Iterator[Path]:
    """The prepared folder, in which nothing may be overwritten; what is new is removed."""
    before = files_of(prepared)
    yield prepared
    after = files_of(prepared)
    assert before.items() <= after.items()
    for path in after.keys() - before.keys():
        path.unlink()
    for made in (prepared / "made", prepared / "x"):
        shutil.rmtree(made, ignore_errors=True)


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
    texts = {
        "other/file.txt": "hi",
        "pretty.jsonl": json.dumps([{"id": "a"}, {"id": "b"}], indent=1),
        "null.jsonl": "\0" * 99,
        "blank.jsonl": "",
        "lines.jsonl": '{"id": "simple_python_0", "output": "x"}\n' * 50,
        "official/m/BFCL_v4_simple_java_score.json": "{}\n",
        "tools.py": "def f(city: str) -> str: ...\n",
        "run.zip": "PK",
    }
    for name, text in texts.items():
        tmp_path.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(name).write_text(text, encoding="utf-8")
    tmp_path.joinpath("wide.jsonl").write_text('{"id": "a"}\n' * 9, encoding="utf-16")
    tmp_path.joinpath("empty").mkdir()
    return tmp_path


VERBS = ("compare", "leaderboard", "merge", "export", "export report", "score", "validate")
NOT_RUNS = ("nosuch", "corrupt", "strange", "listed", "other")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", NOT_RUNS)
def test_what_is_no_run_is_said_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str, name: str
) -> None:
    out = ["-o", str(folder / "made")] if verb in ("leaderboard", "merge", "export") else []
    assert main([*verb.split(), str(folder / name), *out]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith(f"pytest-bfcl {verb}: ")
    assert "\n" not in said
    assert not (folder / "made").exists()


@pytest.mark.parametrize("verb", ["leaderboard", "merge", "export"])
@pytest.mark.parametrize("out", ["own.jsonl", "own.jsonl/below"])
def test_a_file_in_the_way_of_a_folder(folder: Path, capsys: pytest.CaptureFixture[str], verb: str, out: str) -> None:
    assert main([*verb.split(), str(folder / "good"), "-o", str(folder / out)]) == 2
    assert "own.jsonl" in capsys.readouterr().err


def test_a_leaderboard_does_not_replace_a_runs_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", str(folder / "good"), "-o", str(folder / "good")]) == 2
    assert "name another folder" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["compare", "leaderboard", "merge", "export report"])
def test_odd_result_lines_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    out = ["-o", str(folder / "made")] if verb in ("leaderboard", "merge") else []
    runs = [str(folder / "odd")] + ([str(folder / "good")] if verb == "compare" else [])
    assert main([*verb.split(), *runs, *out]) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert f"13 damaged lines of {folder / 'odd' / 'results.jsonl'} left out, the first: line " in said
    if verb in ("compare", "leaderboard"):
        assert "--allow-missing" in said
        assert main([*verb.split(), *runs, *out, "--allow-missing"]) == 0


TABLE: list[tuple[str, int, str]] = json.loads(Path(__file__).with_name("mistakes.json").read_text(encoding="utf-8"))
"""Command line, exit code, and what is said."""


@pytest.mark.parametrize(("line", "code", "said"), TABLE)
def test_a_mistake_is_one_message(
    line: str, code: int, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "PYTEST_BFCL_CACHE"):
        monkeypatch.setenv(variable, str(folder / "nowhere"))
    for variable in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "CI_API_V4_URL", "GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(variable, raising=False)
    found = main(line.split())
    caught = capsys.readouterr()
    told = (caught.err + caught.out).splitlines()
    assert (found, [each for each in told if "Traceback" in each]) == (code, []), told
    assert len(told) <= 5, told
    assert said in "\n".join(told)
