"""The console script: verbs, help, exit codes, and the verbs `fetch` and `validate`."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_bfcl import __version__
from pytest_bfcl.cli import available, fetch, main
from pytest_bfcl.failures import HarnessError
from tests.patience import patience
from tests.plugin.conftest import question, write_lines


def test_help_lists_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--help"], ["-h"]):
        assert main(words) == 0
        shown = capsys.readouterr().out
        assert all(f"  {verb} " in shown for verb in available())
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pytest-bfcl {__version__}\n"


@pytest.mark.parametrize("verb", list(available()))
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert f"usage: pytest-bfcl {verb}" in capsys.readouterr().out
    assert main([verb, "--no-such-option"]) == 2


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from pytest_bfcl.cli import main; main(['--help']);"
        "heavy = {'pydantic', 'pytest', 'httpx', 'litellm', 'numpy', 'rich', 'jinja2'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert time.perf_counter() - started < patience(5)


def test_fetch_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_packages: None, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path))
    assert main(["fetch"]) == 2
    said = capsys.readouterr().err  # an environment made by uv has no pip
    assert re.match(r"pytest-bfcl fetch: (?:(?:pip|uv) could not download the data|neither pip nor uv is)", said)


def test_fetch_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, official_wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path))
    assert main(["fetch", "--from", str(official_wheel)]) == 0
    assert capsys.readouterr().out.startswith("fetched: BFCL 2026.3.23 (verified)\n")
    assert main(["fetch"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("already fetched: BFCL 2026.3.23 (verified)\n")
    folder = tmp_path / "official" / "2026.3.23"
    assert out.endswith(f"{folder}\n")
    (folder / "data" / "BFCL_v4_multiple.json").write_text("", encoding="utf-8")
    assert main(["fetch"]) == 1
    assert "was changed since it was fetched" in capsys.readouterr().out


def test_interrupts_and_our_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(error: BaseException) -> object:
        def run(_: object) -> int:
            raise error

        return run

    for error, code in ((KeyboardInterrupt(), 130), (HarnessError("data", "broken"), 1)):
        monkeypatch.setattr(fetch, "run", raises(error))
        assert main(["fetch"]) == code


def test_validate_several_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, again = (write_lines(tmp_path / f"{name}.jsonl", [question("simple_python_0")]) for name in "ac")
    second = write_lines(tmp_path / "b.jsonl", [question("other", possible_answer=[{"rang": {}}])])
    assert main(["validate", str(first), str(second)]) == 1
    assert f"{second}:1: other: possible_answer[0]: the answer calls 'rang'" in capsys.readouterr().out
    assert main(["validate", str(first), str(again)]) == 2
    assert f"stands in {first}:1 and in {again}:1" in capsys.readouterr().err
