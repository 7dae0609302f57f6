"""Own tests: what a run of the benchmark leaves out, and adds nothing to."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bfcl.extensions.sessions.left_out import LeftOut, Naming, count_tests
from tests.plugin.conftest import Project


def count(folder: Path, text: str, name: str = "test_x.py", naming: Naming | None = None) -> int:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return count_tests([folder], naming or Naming()).tests


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("def test_a(): pass\nasync def test_b(ask):\n    def test_inner(): pass\ndef helper(): pass\n", 2),
        ("class TestX:\n    def test_a(self): pass\n    def helper(self):\n        def test_b(): pass\n", 1),
        ("class Other:\n    def test_a(self): pass\ndef test_b(): pass\n", 1),
        ("import unittest\nclass Old(unittest.TestCase):\n\tdef test_a(self): pass\n\tdef test_b(self): pass\n", 2),
        ("class TestX:\n    pass\n\ndef helper():\n    def test_a(): pass\n", 0),
        ("raise SystemExit  # importing it would end everything\ndef test_a(: broken\n", 1),
        ("\x00\xff", 0),
        ("", 0),
    ],
)
def test_own_tests_are_counted_without_importing_them(tmp_path: Path, text: str, tests: int) -> None:
    assert count(tmp_path, text) == tests


def test_the_project_says_how_its_tests_are_called(tmp_path: Path) -> None:
    naming = Naming(["check_*.py"], ["check", "*_works"], ["Suite"], [])
    text = "def check_a(): pass\ndef it_works(): pass\ndef test_b(): pass\nclass SuiteX:\n    def check_c(self): pass\n"
    assert count(tmp_path, text, "check_x.py", naming) == 3


def test_too_many_files_are_not_all_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (tmp_path / f"test_{number}.py").write_text("def test_a(): pass\n")
    assert count_tests([tmp_path, tmp_path], Naming()) == LeftOut(4, 4)
    monkeypatch.setattr("pytest_bfcl.extensions.sessions.left_out.FILES", 2)
    found = count_tests([tmp_path], Naming())
    assert found == LeftOut(2, 2, all=False)
    assert found.hint_line(".", "oracle:").startswith("at least 2 test functions of your own in 2 files ")


@pytest.fixture
def own(project: Project) -> Project:
    """A folder with tests of its own, one of which asks the model."""
    (project.path / "checks").mkdir()
    asking = (
        "import pathlib\npathlib.Path('imported').touch()\ndef test_a(ask):\n    ask('What is the weather in Oslo?')\n"
    )
    (project.path / "checks" / "test_own.py").write_text(asking + "def test_b(): pass\n")
    return project


@pytest.mark.parametrize(("quiet", "ini"), [((), ""), (("-q",), "testpaths = checks\n"), (("--no-header",), "")])
def test_the_benchmark_leaves_own_tests_out_and_says_so(own: Project, quiet: tuple[str, ...], ini: str) -> None:
    own.pytester.makeini(f"[pytest]\nasyncio_default_fixture_loop_scope = session\n{ini}")
    result = own.run("-m", "multiple", *quiet)
    result.assert_outcomes(passed=2)
    told = [line for line in result.outlines if "left out" in line]
    path = "checks" if ini else "."
    assert told == [
        "bfcl: 2 test functions of your own in 1 file left out, this run is the benchmark's; "
        f"to run them name their path: pytest {path} --model scripted:script.json"
    ]
    assert not (own.path / "imported").exists()
    own.run("checks", "bfcl/multiple.jsonl", out="named").assert_outcomes(passed=4)
    assert "left out" not in own.run("checks").stdout.str()
