"""`pytest-bfcl compare`: run directories, result files, score folders, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from tests.runs.samples import SPEC
from tests.scoring.samples import lines, saved


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str, str]:
    """A baseline, a checkpoint that is clearly worse in one category, and one that differs by one entry."""
    base = list(lines({"parallel": (45, 50), "multiple": (40, 50)}))
    worse = list(lines({"parallel": (25, 50), "multiple": (41, 50)}))
    same = list(lines({"parallel": (44, 50), "multiple": (40, 50)}))
    return saved(tmp_path / "base", base), saved(tmp_path / "worse", worse), saved(tmp_path / "same", same)


def test_fail_gives_the_exit_code(runs: tuple[str, str, str]) -> None:
    base, worse, same = runs
    assert main(["compare", base, same, "--fail"]) == 0
    assert main(["compare", base, worse, "--fail"]) == 1
    assert main(["compare", base, same, worse, "--fail"]) == 1
    assert main(["compare", worse, base, "--fail"]) == 0
    assert main(["compare", base, worse, "--fail", "--margin", "50"]) == 0
    assert main(["compare", base, worse, "--margin", "200"]) == 2
    assert main(["compare", base, worse, "--rules", "verified"]) == 2  # no line has such a verdict


def test_models_of_one_run_are_compared_within_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    native = list(lines({"parallel": (3, 4)}))
    prompting = [record | {"model": "openai:tiny@prompt", "mode": "prompt"} for record in native]
    run = saved(tmp_path / "run", [*native, *prompting])
    assert main(["compare", run]) == 0
    assert "openai:tiny@fc → openai:tiny@prompt" in capsys.readouterr().out
    assert main(["compare", f"{run}#openai:tiny@prompt", f"{run}#{SPEC}"]) == 0
    assert "openai:tiny@prompt → openai:tiny@fc" in capsys.readouterr().out
    assert main(["compare", f"{run}#openai:big"]) == 2
    assert "has no model 'openai:big'" in capsys.readouterr().err
    assert main(["compare", saved(tmp_path / "one", native)]) == 2
