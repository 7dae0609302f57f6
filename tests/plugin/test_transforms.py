"""``--bfcl-transform`` in a run: pairs in the summary, nothing in the scores."""

from __future__ import annotations

import json

import pytest

from pytest_bfcl.cli import main
from tests.distributed import WORKERS

from .conftest import Project, call


@pytest.mark.parametrize("workers", WORKERS)
def test_the_drop_is_shown(project: Project, workers: tuple[str, ...]) -> None:
    project.script["simple_python_1~upper-case"] = call("Rome")
    project.script["simple_python_2~upper-case"] = call("Rome")
    names = ("--bfcl-transform=upper-case", "--bfcl-transform=short-descriptions")
    result = project.run("-m", "simple_python", *names, *workers)
    result.assert_outcomes(passed=10, failed=2, **({} if workers else {"deselected": 7 * 3}))
    (model,) = project.summary()["models"].values()
    assert (model["categories"]["simple_python"]["total"], model["categories"]["simple_python"]["accuracy"]) == (4, 1.0)
    cell = model["robustness"]["upper-case"]
    assert (cell["pairs"], cell["accuracy"], cell["transformed"], cell["regressed"]) == (4, 1.0, 0.5, 2)
    low, high = cell["interval95"]
    assert low < cell["difference"] == -0.5 < high
    result.stdout.fnmatch_lines(["upper-case: 100.0 % -> 50.0 % over 4 entries, -50.0 points*"])
    assert "rephrased" in (project.path / "run" / "index.html").read_text()


def test_one_transformed_entry_by_its_id_sample_and_rescoring(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.script |= {f"irrelevance_{n}~upper-case": "No." for n in range(2)}
    options = ("--bfcl-transform=upper-case",)
    project.run("bfcl/simple_python.jsonl::simple_python_1~upper-case", *options, out="one").assert_outcomes(passed=1)
    project.run("--bfcl-sample=3", *options, out="few").assert_outcomes(passed=6, deselected=16)
    assert len({record["id"].partition("~")[0] for record in project.records("few")}) == 3
    path = str(project.path / "few" / "results.jsonl")
    assert main(["score", path, "--data", str(project.path / "bench"), "-o", str(project.path / "judged.jsonl")]) == 0
    judged = [json.loads(line) for line in (project.path / "judged.jsonl").read_text().splitlines()]
    assert all(line["valid"] for line in judged)
    assert len(judged) == 6
    assert main(["export", str(project.path / "few"), "-o", str(project.path / "official")]) == 0
    exported = "".join(path.read_text() for path in (project.path / "official").rglob("*.json"))
    assert "~" not in exported
    assert "simple_python" in exported
