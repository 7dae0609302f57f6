"""Beside other plugins and public projects' conftests: our entries and their suite are green together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.plugin.conftest import Project

from .conftest import call, question, write_lines

NEIGHBOURS = {
    # module → further options
    "pytest_jsonreport.plugin": ("--json-report", "--json-report-file=report.json"),
    "pytest_github_actions_annotate_failures.plugin": (),
    "pytest_timeout": ("--timeout=60",),
    "pytest_randomly": (),
    "pytest_sugar": (),
    "pytest_rerunfailures": ("--reruns=1",),
    "pytest_cov.plugin": ("--cov=.", "--cov-report="),
    "pytest_order.plugin": (),
    "pytest_instafail": ("--instafail",),
    "pytest_clarity.plugin": (),
    "pytest_repeat": ("--count=1",),
    "pytest_reportlog.plugin": ("--report-log=log.jsonl",),
    "pytest_md.plugin": ("--md=report.md",),
    "pytest_split.plugin": ("--splits=1", "--group=1"),
    "pytest_subtests.plugin": (),
    "pytest_mock": (),
    "pytest_icdiff": (),
    "random_order.plugin": ("--random-order",),
    "pytest_durations": (),
    "pytest_custom_exit_code": (),
    "pytest_metadata.plugin": (),
    "pytest_html.plugin": ("--html=report.html",),
    "pytest_asyncio.plugin": (),
    "anyio.pytest_plugin": (),
    "hypothesis.extra.pytestplugin": (),
}
NEEDS = {"pytest_html.plugin": ("pytest_metadata.plugin",), "pytest_jsonreport.plugin": ("pytest_metadata.plugin",)}
HERE = "pytest_html.plugin"
"""The one that is tried in every run of the suite, as the development extra brings it."""


def session(folder: Path, plugin: str, *more: str) -> subprocess.CompletedProcess[str]:
    """One session of three entries, of which the model gets one right, one wrong, and one is an error."""
    write_lines(folder / "own.jsonl", [question(f"simple_python_{number}") for number in range(3)])
    script = {
        "simple_python_0": {"tool_calls": call()},
        "simple_python_1": {"tool_calls": call("Rome")},
        "simple_python_2": {"error": "bad_request", "message": "no", "status": 400},
    }
    folder.joinpath("script.json").write_text(json.dumps(script), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pytest_bfcl.plugin"]
    for each in (*NEEDS.get(plugin, ()), plugin):
        command += ["-p", each] if each else []
    command += [*NEIGHBOURS.get(plugin, ()), "--model", "scripted:script.json@fc", "--bfcl-out", "run", *more]
    extra = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "GITHUB_ACTIONS": "true", "COLUMNS": "200"}
    return subprocess.run(
        [*command, "own.jsonl"], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **extra}
    )


@pytest.mark.parametrize(
    "plugin", [pytest.param(name, marks=() if name == HERE else pytest.mark.slow) for name in NEIGHBOURS]
)
def test_a_session_beside_a_neighbour(plugin: str, tmp_path: Path) -> None:
    pytest.importorskip(plugin.partition(".")[0])
    done = session(tmp_path, plugin)
    said = done.stdout + done.stderr
    assert "INTERNALERROR" not in said, said
    assert done.returncode == 1, said
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert {line["id"]: line["outcome"] for line in lines} == {
        "simple_python_0": "passed", "simple_python_1": "failed", "simple_python_2": "error",
    }  # fmt: skip
    if plugin == "pytest_jsonreport.plugin":
        report = json.loads((tmp_path / "report.json").read_text())
        (failed,) = [test for test in report["tests"] if test["outcome"] == "failed"]
        assert failed["call"]["crash"]["lineno"] == 2
        assert failed["call"]["crash"]["path"].endswith("own.jsonl")
        assert "WRONG_ANSWER" in failed["call"]["longrepr"]
    if plugin.startswith("pytest_github"):
        assert said.count("::error ") == 1  # of calls that failed; what fails before is not its business
        assert "WRONG_ANSWER value_error" in said


@pytest.mark.slow
def test_a_failure_has_the_parts_of_pytests_own_from_workers_too(tmp_path: Path) -> None:
    plugin = tmp_path / "watching.py"
    plugin.write_text(
        "def pytest_runtest_logreport(report):\n"
        "    if report.failed:\n"
        "        crash = report.longrepr.reprcrash\n"
        "        entries = report.longrepr.reprtraceback.reprentries\n"
        "        shown = 'called' in report.longreprtext\n"
        "        print('\\nSEEN', crash.path, crash.lineno, crash.message, len(entries), shown)\n",
        encoding="utf-8",
    )
    for more in ((), ("-p", "xdist", "-n1")):
        folder = tmp_path / str(len(more))
        folder.mkdir()
        folder.joinpath("watching.py").write_text(plugin.read_text(), encoding="utf-8")
        done = session(folder, "watching", "-s", *more)
        seen = [line for line in done.stdout.splitlines() if line.startswith("SEEN")]
        assert len(seen) == 2, done.stdout + done.stderr
        assert "own.jsonl 2 WRONG_ANSWER value_error:string 1 True" in seen[0]


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
