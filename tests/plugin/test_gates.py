"""Baselines and expected failures, what the last lines say, and what CI reads: JUnit properties, the step summary."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from tests.distributed import WORKERS

from .conftest import Project, call, question, write_lines

ONE = ("-m", "simple_python")
BOTH_WAYS = pytest.mark.parametrize("workers", WORKERS)


def known(project: Project, *ids: str, **changes: object) -> None:
    """A file of expected failures."""
    failures = [{"model": "scripted:script.json@fc", "mode": "fc", "id": entry_id} for entry_id in ids]
    (project.path / "known.json").write_text(json.dumps({"failures": failures} | changes))


def last_lines(result: pytest.RunResult, count: int) -> list[str]:
    """What stands below everything else."""
    return result.outlines[-count:]


def test_the_file_is_written_and_kept_up(project: Project) -> None:
    project.fail("simple_python_0", "multiple_1")
    result = project.run("--bfcl-write-expected", "ci/known.json", out="one")
    result.stdout.fnmatch_lines(["bfcl: 2 expected failures written to ci/known.json"])
    written = json.loads((project.path / "ci" / "known.json").read_text())
    assert [failure["id"] for failure in written["failures"]] == ["multiple_1", "simple_python_0"]
    assert written["rules"] == "official"
    # A part of the benchmark rewrites its part of the file.
    project.script["simple_python_0"] = call()
    project.fail("simple_python_2")
    both = ("--bfcl-expected", "ci/known.json", "--bfcl-write-expected", "ci/known.json")
    assert project.run(*ONE, *both, out="two").ret == 1
    written = json.loads((project.path / "ci" / "known.json").read_text())
    assert [failure["id"] for failure in written["failures"]] == ["multiple_1", "simple_python_2"]
    assert project.run("--bfcl-expected", "ci/known.json", out="three").ret == 0


@pytest.fixture
def baseline(project: Project) -> Project:
    """Thirty entries and a run in which all of them passed."""
    write_lines(project.path / "bench" / "simple_python.jsonl", [question(f"simple_python_{n}") for n in range(30)])
    assert project.run(*ONE, out="good").ret == 0
    return project


@BOTH_WAYS
def test_a_regression_is_told_with_its_entries_last(baseline: Project, workers: tuple[str, ...]) -> None:
    baseline.fail(*(f"simple_python_{number}" for number in range(12)))
    result = baseline.run(*ONE, "--bfcl-baseline", "good,margin=5", *workers)
    assert result.ret == 1
    missed, first = last_lines(result, 13)[:2]
    assert missed.startswith("gate MISSED: non_live: -40.00 points against the baseline (95 % interval ")
    assert "30 paired entries): 35.00 points more than the 5 allowed, and not by chance [n = 30, a part: " in missed
    assert first == "    simple_python_0: passed → value_error:string"
    assert last_lines(result, 2) == ["    … and 2 more in summary.json", "gates: FAILED by baseline:non_live"]
    checks = {check["name"]: check for check in baseline.summary()["gate"]["checks"]}
    assert len(checks["baseline:non_live"]["entries"]) == 12


def test_a_refused_continuation_leaves_the_run_as_it_was(project: Project) -> None:
    project.run(*ONE)
    before = (project.path / "run" / "run.json").read_bytes()
    result = project.run("-m", "simple_python or irrelevance", "--bfcl-fail-under", "overall=1", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (project.path / "run" / "run.json").read_bytes() == before
    assert project.run("-m", "simple_python or irrelevance").ret == 0


@BOTH_WAYS
def test_junit_carries_category_tag_and_reason(project: Project, workers: tuple[str, ...]) -> None:
    project.fail("simple_python_1")
    project.script["simple_python_2"] = {"error": "server", "status": 500}
    project.run(*ONE, "--bfcl-retries=0", "--junit-xml=junit.xml", *workers)
    found = {}
    for case in ElementTree.parse(project.path / "junit.xml").iter("testcase"):
        found[case.get("name")] = {each.get("name"): each.get("value") for each in case.iter("property")}
    assert found == {
        "simple_python_0": {"category": "simple_python"},
        "simple_python_1": {"category": "simple_python", "tag": "WRONG_ANSWER", "reason": "value_error:string"},
        "simple_python_2": {"category": "simple_python", "tag": "ADAPTER_ERROR", "reason": "adapter:server"},
        "simple_python_3": {"category": "simple_python"},
    }


@BOTH_WAYS
def test_the_step_summary_is_appended_to(
    project: Project, workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = project.path / "step.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    project.fail("simple_python_1")
    project.run(*ONE, "--bfcl-fail-under", "simple_python=90", *workers)
    text = page.read_text()
    assert text.startswith("before\n")
    assert "❌" in text
    assert "missed by 15.00 points" in text
    assert text.count("### ") == 1  # the controller writes it, workers do not


def test_a_step_summary_that_cannot_be_written_hides_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "no" / "where"))
    assert project.run(*ONE).ret == 0
