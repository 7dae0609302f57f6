"""What a job of GitHub's is told about gates."""

from __future__ import annotations

import pytest

from pytest_bfcl.reporting.markdown import annotation_lines


def test_the_ten_worst_regressions_are_warnings_and_texts_cannot_leave_their_line() -> None:
    entries = [f"simple_python_{number} passed -> WRONG_ANSWER\n::error::50 %" for number in range(30)]
    missed = {"name": "baseline:live,x", "model": "m", "ok": False, "why": "live: -4.00 points", "entries": entries}
    again = {**missed, "name": "baseline:all"}
    met = {"name": "all=60", "model": "m", "ok": True, "why": "fine", "value": 61.0, "limit": 60.0, "entries": []}
    lines = list(annotation_lines({"verdict": "failed", "checks": [met, missed, again]}))  # type: ignore[list-item]
    assert lines[0] == "::error title=gate baseline%3Alive%2Cx missed::live: -4.00 points"
    assert len([line for line in lines if line.startswith("::error ")]) == 2
    warnings = [line for line in lines if line.startswith("::warning ")]
    assert len(warnings) == 10
    assert warnings[1] == (
        "::warning title=baseline%3Alive%2Cx%3A simple_python_1::"
        "simple_python_1 passed -> WRONG_ANSWER%0A::error::50 %25"
    )


LEXICAL = ("--model", "lexical:", "--bfcl-data=bundled", "-m", "simple_python", "--tb=short", "--bfcl-out")


def test_a_job_of_github_is_told(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = pytester.runpytest_inprocess(*LEXICAL, "a", "--bfcl-fail-under", "simple_python=99.9")
    result.stdout.re_match_lines([r"^::error title=gate simple_python=99\.9 missed::simple_python is "])
    monkeypatch.delenv("GITHUB_ACTIONS")
    result = pytester.runpytest_inprocess(*LEXICAL, "b", "--bfcl-fail-under", "simple_python=99.9")
    result.stdout.no_fnmatch_line("::*")
