"""``--lf``: what failed before is asked again; the outcome is told as that of a rerun, never as a score."""

from __future__ import annotations

import pytest

from tests.distributed import WORKERS

from .conftest import Project

ONE = ("-m", "simple_python", "-p", "cacheprovider")


@pytest.mark.parametrize("workers", WORKERS)
def test_a_rerun_of_failures_is_no_score(project: Project, workers: tuple[str, ...]) -> None:
    project.fail("simple_python_0", "simple_python_2")
    project.run(*ONE, out="first")
    result = project.run(*ONE, "--lf", *workers, out="second")
    result.assert_outcomes(failed=2)
    told = "a rerun of entries that failed before (--lf): no score: 0 of 2 pass now"
    assert told in result.outlines
    assert not any("0/2" in line or "0.0 %" in line for line in result.outlines)
    overall = next(iter(project.summary("second")["models"].values()))["overall"]
    assert overall["value"] is None
    assert "--lf" in overall["why"]


def test_without_earlier_failures_everything_runs(project: Project) -> None:
    result = project.run(*ONE, "--lf")
    assert "pass now" not in result.stdout.str()
