"""What the process that reports keeps of entries that passed: their place among the counted, their times, no more."""

from __future__ import annotations

import pytest

from .conftest import Project

KEPT = """
def pytest_terminal_summary(terminalreporter):
    for category in ("", "failed", "passed"):
        for report in terminalreporter.stats.get(category, ()):
            held = sorted(name for name in ("bfcl", "sections", "user_properties") if getattr(report, name, None))
            print("kept", category or "-", report.nodeid, report.when, report.duration > 0, report.location[0], held)
"""


@pytest.mark.parametrize("more", [(), ("-n", "1")])
@pytest.mark.slow
def test_passed_entries_are_held_small_and_failed_ones_as_they_are(project: Project, more: tuple[str, ...]) -> None:
    project.fail("multiple_0")
    (project.path / "conftest.py").write_text(KEPT)
    result = project.run("-k", "multiple", *more)
    result.assert_outcomes(passed=1, failed=1)
    kept = [line for line in result.outlines if line.startswith("kept ")]
    failed, passed = kept
    assert "kept failed" in failed
    assert "multiple_0" in failed
    assert "user_properties" in failed
    assert passed.startswith("kept passed")
    assert "multiple_1" in passed
    assert passed.endswith("[]")
    assert " call True bfcl/" in passed


def test_durations_have_their_numbers_and_reports_that_are_printed_stay(project: Project) -> None:
    result = project.run("-k", "simple_python_0", "--durations=0", "-vv")
    times = [
        line.split()[1] for line in result.outlines if "s setup " in line or "s call " in line or "s teardown" in line
    ]
    assert sorted(times) == ["call", "setup", "teardown"]
    (project.path / "conftest.py").write_text(KEPT)
    result = project.run("-k", "simple_python_0", "-rA", out="other")
    assert sum(line.startswith("kept - ") for line in result.outlines) == 2
    assert any(line.startswith("PASSED ") for line in result.outlines)
