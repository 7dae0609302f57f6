"""What people read: header, table, facts, progress."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.plugin.outcome import FailureText, Outcomes
from pytest_bfcl.plugin.progress import Progress

from .conftest import Project


def test_header_and_summary(project: Project) -> None:
    project.fail("multiple_0")
    result = project.run("-m", "non_live")
    result.stdout.fnmatch_lines([
        "bfcl: scripted:script.json on bench (*), official rules",
        "*= function calling: scripted:script.json@fc =*",
        "category *correct *accuracy *95 % interval *corrected*",
        "simple_python *4/4 *100.0 %*",
        "multiple *1/2 *50.0 %*",
        "overall: not claimed, not the official data*",
        "failures: WRONG_ANSWER 1",
        "most often: value_error:string 1",
        "run: *run",
    ])  # fmt: skip


def test_the_guess_of_the_data_is_said_even_when_quiet(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(project.path / "nothing"))
    result = project.run("-q", "-k", "simple_python_0", data=None, model="oracle:")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["bfcl: the official data is not here*not BFCL scores"])


def test_a_file_named_alone_is_what_the_run_is_about(project: Project) -> None:
    result = project.run("bench/multiple.jsonl", data=None)
    result.stdout.fnmatch_lines(["bfcl: scripted:script.json on multiple (*"])


def test_progress_line() -> None:
    bfcl: Any = SimpleNamespace()
    bfcl.outcomes = Outcomes(bfcl)
    bfcl.outcomes.planned = ["x"] * 100
    bfcl.outcomes.counts.update(passed=15, failed=5, error=1)
    bfcl.outcomes.cost_usd = 0.25
    progress = Progress(bfcl)
    line = progress.line(progress._started + 10)
    assert line == "bfcl: 21 of 100, 2.1/s, 0:38 left, 75.0 % correct, 1 errors, 0.25 USD"


def test_failure_texts_are_coloured_on_a_terminal_only() -> None:
    written: list[tuple[str, dict[str, bool]]] = []
    writer = SimpleNamespace(line=lambda text, **markup: written.append((text, markup)))
    text = "WRONG_ANSWER: x\n  expected  5\n  called    6\n            ^\n  rule      r"
    FailureText(text, "short").toterminal(writer)
    assert [markup for _, markup in written] == [{}, {"green": True}, {"red": True}, {"red": True, "bold": True}, {}]
    assert str(FailureText(text, "short")) == text
