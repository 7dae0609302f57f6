"""`pytest-bfcl run`: gates and their exit codes, a dry run, and parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.session.evaluation import run
from tests.plugin.conftest import call, question, write_lines

MODEL = "scripted:script.json@fc"
WRONG = {f"simple_python_{number}": call("Rome") for number in range(0, 36, 3)}
GATES: list[tuple[str, int]] = [
    # options of the verb, its exit code; 2 is a refusal, the plugin's 4
    ("--fail-under simple_python=70", 0),
    ("--fail-under simple_python=70 --fail-under all=72.8", 1),
    ("--fail-under simple_python=1 --max-errors 0", 1),
    ("--fail-under entries=72 --fail-under n=40", 0),
    ("--fail-under entries=1 --fail-under n=1000", 2),
    ("--sample 10 --fail-under entries=100 --fail-under n=10", 1),
    ("--baseline good,margin=50 --noninferior 40%", 0),
    ("--baseline good,margin=50 --noninferior 31", 1),
    ("--baseline bad --noninferior 40% --noninferior simple_python=7 --fail-under all=99", 1),
    ("--baseline other", 2),
    ("--expected known.json", 0),
    ("--expected some.json --fail-under simple_python=99 --baseline good", 1),
    ("--expected corrected.json", 2),
    ("--expected null.json", 2),
    ("--verify good", 2),
    ("--fail-under simple_python=101", 2),
    ("--noninferior 1", 2),
    ("--write-expected bench", 2),
    ("--categories live", 2),
]


def failures(*ids: str, **changes: Any) -> str:
    keyed = [{"model": MODEL, "mode": "fc", "id": name} for name in ids]
    return json.dumps({"failures": keyed} | changes)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, with runs and files to hold it against."""
    folder = tmp_path_factory.mktemp("verb")
    entries = [question(f"simple_python_{number}") for number in range(40)]
    write_lines(folder / "bench" / "simple_python.jsonl", entries)
    write_lines(folder / "bench" / "multiple.jsonl", [question(f"multiple_{number}") for number in range(4)])
    write_lines(folder / "others" / "simple_python.jsonl", entries[:3])
    down = {"multiple_3": {"error": "server", "message": "down", "status": 503}}
    bad = {f"simple_python_{number}": call("Rome") for number in range(36)}
    for name, script in {"script": WRONG | down, "good": {}, "bad": bad}.items():
        (folder / f"{name}.json").write_text(json.dumps({"*": call()} | script))
    (folder / "known.json").write_text(failures(*WRONG))
    (folder / "some.json").write_text(failures("simple_python_4", "simple_python_5"))
    (folder / "null.json").write_text("null")
    (folder / "corrected.json").write_text(failures(rules="corrected"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("good", "bad"):
            run("bench", f"scripted:{name}.json@fc", out=name)
        run("others", "scripted:good.json@fc", out="other")
        assert main(["run", *verb("verb")]) == 1
    return folder


def verb(out: str, *words: str) -> list[str]:
    shared = ["--data", "bench", "--report", "none", "--retries", "0", "--max-errors", "3"]
    return ["--model", MODEL, *shared, "-o", out, *words]


def gate_of(run: Path) -> Any:
    return json.loads((run / "summary.json").read_text())["gate"]


def of_gates(lines: list[str]) -> list[str]:
    """The lines about gates, each check with the entries below it."""
    return [line for line in lines if line.startswith(("gate", "    simple_python_", "    … and"))]


@pytest.mark.parametrize(("options", "code"), GATES)
def test_a_gate_has_its_verdict_and_exit_code(
    place: Path, options: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert main(["run", *verb("verb", *options.split())]) == code
    shown = capsys.readouterr()
    if code == 2:
        assert 1 <= len(shown.err.splitlines()) <= 5
        return
    assert of_gates(shown.out.splitlines())[-1].startswith("gates: ")
    assert gate_of(place / "verb")["verdict"] == ("failed" if code else "passed")


def test_expected_failures_are_written_and_taken(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    main(["run", *verb("verb", "--write-expected", "v/known.json")])
    assert f"{len(WRONG)} expected failures written to v/known.json" in capsys.readouterr().out
    assert main(["run", *verb("verb", "--expected", "v/known.json")]) == 0


def test_nothing_selected_has_a_code_of_its_own(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    words = ["--categories", "multiple", "--shard", "5/5"]
    assert main(["run", *verb("empty", *words)]) == 5
    assert "nothing is selected" in capsys.readouterr().out
    assert main(["run", *verb("empty", *words, "--dry-run")]) == 5
    assert not (place / "empty").exists()
    (place / "ids.txt").write_text("simple_python_2\n")
    assert main(["run", *verb("verb", "--ids", "ids.txt", "--dry-run")]) == 5
    assert "nothing is left to ask: 43 verdicts are there" in capsys.readouterr().out
