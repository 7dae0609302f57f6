"""``--bfcl-report``: how much of a report a session writes: in one process, with workers, continued, interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.plugin import session_end
from tests.plugin.conftest import Project
from tests.reporting.samples import packed_pages


def report_of(run: Path) -> dict[str, object]:
    """What the report holds: pages by name, packed ones by their values, and the index."""
    found: dict[str, object] = {path.name: path.read_bytes() for path in (run / "entries").glob("*.html")}
    found |= packed_pages(run)
    index = run / "index.html"
    return found | ({"index.html": index.read_bytes()} if index.exists() else {})


@pytest.mark.parametrize(
    "workers", [pytest.param((), id="one process"), pytest.param(("-n", "2"), id="workers", marks=pytest.mark.slow)]
)
def test_a_session_writes_what_the_verb_does(project: Project, workers: tuple[str, ...]) -> None:
    project.fail("simple_python_1", "multiple_0")
    project.run("--bfcl-concurrency=2", "--bfcl-repeat=2", *workers).assert_outcomes(passed=18, failed=4)
    made = report_of(project.path / "run")
    assert sorted(name for name in made if name.endswith(".html")) == [
        "index.html", "multiple_0-r2.html", "multiple_0.html", "simple_python_1-r2.html", "simple_python_1.html",
    ]  # fmt: skip
    assert len(made) == 23
    assert main(["export", "report", str(project.path / "run"), "--data", "bench"]) == 0
    assert report_of(project.path / "run") == made


@pytest.mark.parametrize("within_s", [5.0, 0.0])
def test_an_interrupted_run_has_a_report_unless_it_takes_long(
    project: Project, monkeypatch: pytest.MonkeyPatch, within_s: float
) -> None:
    monkeypatch.setattr(session_end, "HURRIED_S", within_s)
    project.pytester.makeconftest("""
        def pytest_bfcl_result(record):
            if record["id"].startswith("multiple"):
                raise KeyboardInterrupt
    """)
    result = project.run()
    made = report_of(project.path / "run")
    if within_s:
        assert "index.html" in made
        result.stdout.no_fnmatch_line("*no report yet*")
    else:
        assert made == {}
        result.stdout.fnmatch_lines(["bfcl: no report yet, it would take longer than 0 s: pytest-bfcl export report *"])


def test_trouble_with_the_disk_is_told(project: Project) -> None:
    project.pytester.makeconftest("""
        def pytest_bfcl_result(record):
            open("run/entries", "a").close()
    """)
    result = project.run()
    result.assert_outcomes(passed=11)
    result.stdout.fnmatch_lines(["bfcl: the report could not be written: *entries*"])
    assert len(project.records()) == 11


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
