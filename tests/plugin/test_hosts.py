"""Conftests as public projects write them: beside the installed plugin their suite is green, and so are our entries."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.plugin.conftest import Project

THEIRS = """
import pytest

@pytest.mark.theirs
def test_theirs(request): assert not request.config.getoption("bfcl_nothing", None)
"""

CONFTESTS = tomllib.loads(Path(__file__).with_name("hosts.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("conftest", CONFTESTS.values(), ids=CONFTESTS)
def test_a_hosts_suite_and_our_entries_are_green_together(project: Project, conftest: str) -> None:
    (project.path / "conftest.py").write_text("import pytest\n" + conftest)
    (project.path / "test_theirs.py").write_text(THEIRS)
    together = project.run("test_theirs.py", "bench/multiple.jsonl", data=None)
    together.assert_outcomes(passed=3)
    assert together.ret == 0
