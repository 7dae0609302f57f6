"""The reference's simulators in whole runs: the same verdicts and digits as ours, refused where it is not installed."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.plugin.conftest import Project, project  # noqa: F401 - a fixture


@pytest.mark.skipif(find_spec("bfcl_eval") is not None, reason="bfcl_eval is installed")
def test_reference_simulators_without_bfcl_eval_are_refused_at_once(project: Project) -> None:  # noqa: F811
    result = project.run("--bfcl-simulators", "reference", "-m", "multi_turn_base", model="oracle:@fc", subprocess=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "pip install bfcl-eval" in result.stderr.str()


REFERENCE = Path(os.environ.get("PYTEST_BFCL_REFERENCE") or "/nonexistent")
"""A folder with an importable ``bfcl_eval`` (and what it imports)."""


@pytest.mark.golden
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_reference_simulators_run_end_to_end(
    project: Project,  # noqa: F811
    official_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
) -> None:
    if not (REFERENCE / "bfcl_eval").is_dir():
        pytest.skip("no bfcl_eval (name its folder with PYTEST_BFCL_REFERENCE)")
    monkeypatch.setenv("PYTHONPATH", str(REFERENCE))
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(official_dir.parents[1]))
    ids = [f"multi_turn_{kind}_{number}" for kind in ("base", "long_context") for number in (0, 50, 100, 150, 199)]
    (project.path / "ids.txt").write_text("\n".join(ids))
    options = ["-m", "multi_turn", "--bfcl-ids", "ids.txt", "--bfcl-simulators", "reference"]
    result = project.run(*options, model=f"oracle:@{mode}", data="official", subprocess=True)
    result.assert_outcomes(passed=len(ids), deselected=None)
    mine = {record["id"]: record["tool_results"] for record in project.records()}
    project.run(*options[:-1], "own", model=f"oracle:@{mode}", data="official", subprocess=True, out="own")
    numbers = [shape(json.dumps(mine[record["id"]])) == shape(json.dumps(record["tool_results"]))
               for record in project.records("own")]  # fmt: skip
    assert numbers == [True] * len(ids), "results have other digits than our own simulators'"


def shape(text: str) -> str:
    """The digits of a text: wording is each side's own, numbers are not."""
    return "".join(filter(str.isdigit, text))
