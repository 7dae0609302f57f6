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
