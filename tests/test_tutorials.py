"""The tutorials, carried out as they stand: their files are written, their commands run, in order, in one folder each.

A fenced block with a title is a file. In a ``console`` block every line after ``$`` is a command, the lines below it
are part of its output, ``# exit code N`` is how it ends. The words NAME and URL stand for a server of the reader's.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.extensions.wire.examining import served
from tests.extensions.wire.reference import Reference

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("first-*.md"))
BLOCK = re.compile(r'^```(\w+)(?: title="([\w.]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*?)(?:  # exit code (\d))?$")


class Command(NamedTuple):
    words: list[str]
    code: int
    shown: list[str]


def commands(block: str) -> list[Command]:
    found: list[Command] = []
    for line in block.splitlines():
        if match := COMMAND.match(line):
            program, *words = shlex.split(match[1])
            found.append(Command([program, *words], int(match[2] or 0), []))
        elif line.strip():
            found[-1].shown.append(" ".join(line.split()))
    return found


def carry_out(page: Path, pytester: pytest.Pytester, capfd: pytest.CaptureFixture[str], url: str) -> None:
    for kind, title, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            (pytester.path / title).write_text(text, encoding="utf-8")
        elif kind == "console":
            for command in commands(text):
                code, said = run(command.words, pytester, capfd, url)
                assert code == command.code, f"{command.words}\n{said}"
                lines = [" ".join(line.split()) for line in said.splitlines()]
                missing = [line for line in command.shown if not any(line in each for each in lines)]
                assert missing == [], f"{command.words}\n{said}"


def run(words: list[str], pytester: pytest.Pytester, capfd: pytest.CaptureFixture[str], url: str) -> tuple[int, str]:
    """Exit code and standard output of a command."""
    reader = {"openai:NAME": "openai:mine", "URL": url}
    program, *arguments = (reader.get(word, word) for word in words)
    capfd.readouterr()
    if program == "pytest":
        done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore", *arguments)
        code = int(done.ret)
    elif program == "pytest-bfcl":
        code = subprocess.run([sys.executable, "-m", "pytest_bfcl", *arguments], check=False).returncode
    else:
        assert program == "ls"
        print(*sorted(os.listdir(arguments[0])), sep="\n")
        code = 0
    return code, capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_does_what_it_says(
    page: Path, pytester: pytest.Pytester, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert any(kind == "console" for kind, _, _ in BLOCK.findall(page.read_text(encoding="utf-8")))
    with served(Reference()) as url:
        carry_out(page, pytester, capfd, url)
