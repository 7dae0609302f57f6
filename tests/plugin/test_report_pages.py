"""``--bfcl-report``: how much of a report a session writes, in one process, with workers, and continued."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.plugin import report_pages
from tests.plugin.conftest import Project


def report_of(run: Path) -> dict[str, bytes]:
    pages = {path.name: path.read_bytes() for path in (run / "entries").glob("*.html")}
    index = run / "index.html"
    return pages | ({"index.html": index.read_bytes()} if index.exists() else {})


def test_pages_written_meanwhile_are_those_of_the_verb(project: Project) -> None:
    project.fail("simple_python_1", "multiple_0")
    project.run("--bfcl-concurrency=2", "--bfcl-repeat=2").assert_outcomes(passed=18, failed=4)
    made = report_of(project.path / "run")
    assert len(made) == 23
    assert main(["report", str(project.path / "run"), "--data", "bench"]) == 0
    assert report_of(project.path / "run") == made


def test_levels_and_continuing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.run("--bfcl-report=none", "-k", "simple_python_0")
    run = project.path / "run"
    assert report_of(run) == {}
    project.run("--bfcl-report=index")
    assert list(report_of(run)) == ["index.html"]
    assert "entries" not in [path.name for path in run.iterdir()]
    assert main(["report", str(run), "--data", "bench", "--level", "full"]) == 0
    assert len(report_of(run)) == 12
    whole = report_of(run)
    project.run()  # nothing is left to ask: the report is made from what is stored
    again = report_of(run)
    del whole["index.html"], again["index.html"]  # with the time of the run's end
    assert again == whole


def test_the_default_writes_no_pages_of_very_many_entries(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_pages, "MOST_PAGES", 10)
    result = project.run()
    assert list(report_of(project.path / "run")) == ["index.html"]
    result.stdout.fnmatch_lines(["bfcl: the report has no pages of its 11 entries: pytest-bfcl report * writes them"])
    asked = project.run("--bfcl-report=full", out="asked")
    assert len(report_of(project.path / "asked")) == 12
    asked.stdout.no_fnmatch_line("*has no pages*")


@pytest.mark.slow
def test_the_ini_file_says_the_level_and_html_rows_link_to_no_page(project: Project) -> None:
    project.pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\nbfcl_report = index\n")
    project.run("--html=report.html", "--self-contained-html", "-n", "2", subprocess=True).assert_outcomes(passed=11)
    assert list(report_of(project.path / "run")) == ["index.html"]
    assert "page</a>" not in (project.path / "report.html").read_text(encoding="utf-8")
