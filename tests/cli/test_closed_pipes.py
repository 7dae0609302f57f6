"""A verb whose reader went away (``pytest-bfcl … | head``) ends as other programs do: 141, without a word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_bfcl.cli import READER_GONE, main
from pytest_bfcl.session.evaluation import run as run_models


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small runs, and a file of replies."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("one", "two"):
        run_models("bundled", "lexical:", categories=["simple_java"], sample=3, out=folder / name)
    result = folder / "one" / "results.jsonl"
    lines = [json.loads(line) for line in result.read_text(encoding="utf-8").splitlines()]
    replies = [{"id": line["id"], "output": "[f(a=1)]"} for line in lines]
    (folder / "replies.jsonl").write_text("".join(json.dumps(each) + "\n" for each in replies), encoding="utf-8")
    return folder


PRINTED = [
    "run --model lexical: --data bundled --categories simple_java --sample 2 --out out",
    "score replies.jsonl --data bundled",
    "compare one two",
    "compare stability one two",
    "leaderboard one two -o board",
    "explain one",
    "explain one --cause unexplained",
    "export one -o exported",
    "export one --format markdown -o table.md",
    "export report one",
    "view site one two -o site",
    "merge one -o merged",
    "models",
    "comment one",
    "doctor",
    "doctor wire --list",
    "validate schema entry",
    "validate replies.jsonl",
    "verify one --reference two",
]


def printed_to_nobody(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a command whose standard output nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(os.dup(writing), "w", encoding="utf-8") as stream:
        os.close(writing)
        monkeypatch.setattr(sys, "stdout", stream)
        return main(words)


@pytest.mark.parametrize("command", ["--help", "--version", "run --help"])
def test_help_that_nobody_reads(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed_to_nobody(command.split(), monkeypatch) == READER_GONE


@pytest.mark.parametrize("command", PRINTED)
def test_output_that_nobody_reads(
    command: str, finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(finished)
    assert printed_to_nobody(command.split(), monkeypatch) == READER_GONE, capsys.readouterr().err
    assert "roken pipe" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["models", "compare none none", "score many.jsonl"])
def test_a_process_whose_reader_went_away(command: str, tmp_path: Path) -> None:
    """In a shell, before the first line or after it: not a word, neither from the verb nor from the interpreter's end;
    of a mistake nobody reads the message.
    """
    line = {"id": "irrelevance_0", "category": "irrelevance", "mode": "prompt", "output": "no", "function": []}
    (tmp_path / "many.jsonl").write_text(f"{json.dumps({**line, 'possible_answer': None})}\n" * 5_000)
    words, mistaken = [sys.executable, "-m", "pytest_bfcl", *command.split()], command.startswith("compare")
    reading, writing = os.pipe()
    streams = {"stdout": None, "stderr": writing} if mistaken else {"stdout": writing, "stderr": subprocess.PIPE}
    if not command.startswith("score"):
        os.close(reading)
    with subprocess.Popen(words, cwd=tmp_path, **streams) as process:  # type: ignore[call-overload]
        os.close(writing)
        if command.startswith("score"):
            assert os.read(reading, 9)
            os.close(reading)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said or b"") == (READER_GONE, b"")
