"""What is published: project file, wheel and sources, the action and the include for CI, types for those who use us."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import pytest_bfcl

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_project_file_says_where_it_runs() -> None:
    assert PROJECT["version"] == pytest_bfcl.__version__
    for system in ("POSIX :: Linux", "MacOS", "Microsoft :: Windows"):
        assert f"Operating System :: {system}" in PROJECT["classifiers"]
    for minor in range(11, 15):
        assert f"Programming Language :: Python :: 3.{minor}" in PROJECT["classifiers"]
    assert PROJECT["urls"]


def test_addresses_are_written_for_the_repository_a_release_is_built_from() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "project_urls.py"))
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    urls = tomllib.loads(script["with_urls"](text, "https://forge.example/some-group/pytest-bfcl/"))["project"]["urls"]
    assert urls["Issues"] == "https://forge.example/some-group/pytest-bfcl/issues"
    assert set(PROJECT["urls"]) < set(urls)
    for wrong in ("http://forge.example/a/b", "https://forge.example", 'https://forge.example/a"\nx = "', ""):
        with pytest.raises(ValueError, match="not the address"):
            script["with_urls"](text, wrong)


@pytest.mark.parametrize("name", ["ci", "docs", "parsers", "release"])
def test_workflows_name_what_exists(name: str) -> None:
    """Every script and make target a workflow calls is here; publishing keeps no password."""
    workflow = read(f".github/workflows/{name}.yml")
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    commands = "\n".join(step.get("run", "") for step in steps)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make (\w+)", commands):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for path in re.findall(r"(?:scripts|\.ci)/[\w.]+", commands):
        assert (ROOT / path).is_file(), path
    assert "secrets." not in (ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [*sorted((ROOT / ".github/workflows").glob("*.yml")), ROOT / "action.yml"])
def test_actions_of_others_are_pinned_by_commit(path: Path) -> None:
    """A tag can be moved to other code, a commit cannot; the version is a comment for readers."""
    for used in re.findall(r"uses: +(.+)", path.read_text(encoding="utf-8")):
        assert used.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", used), used


@pytest.mark.parametrize("path", [ROOT / "action.yml", *(ROOT / "ci").iterdir(), *(ROOT / "docs").rglob("*.md")])
def test_recipes_install_no_name_from_an_index(path: Path) -> None:
    """Nobody owns the name on an index; with an extra, it is the installed package that is extended."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?:pip install|PACKAGE:|default:) +['\"]?pytest-bfcl(?![\w\[])", text)


def test_the_pre_commit_hook_checks_entries(tmp_path: Path) -> None:
    (hook,) = read(".pre-commit-hooks.yaml")
    verb = hook["entry"].split()[1:]
    from pytest_bfcl.cli import main

    good = ROOT / "examples" / "model-repository" / "benchmark" / "support.jsonl"
    assert re.search(hook["files"], good.name)
    assert main([*verb, str(good)]) == 0
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "x_0"}\n')
    assert main([*verb, str(bad)]) == 1


CONSUMER = """
import pytest_bfcl
from pytest_bfcl import Reply, ToolCall, Verdict, assert_calls, run

reveal_type(assert_calls)
reveal_type(Reply(text="x").text)
result = run("bundled", "lexical:")
reveal_type(result.passed_ids) # error: no such attribute
pytest_bfcl.no_such_name  # error: no such name
"""


@pytest.mark.slow
def test_users_type_checkers_see_types_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "consumer.py").write_text(CONSUMER)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "consumer.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert re.search(r'Revealed type is "def \(', done.stdout), done.stdout
    assert not re.search(r'Revealed type is "Any"(?!.*\n.*passed_ids)', done.stdout.partition("passed_ids")[0])
    assert "consumer.py:9" not in done.stdout.partition("error")[0]
    assert 'Module has no attribute "no_such_name"' in done.stdout
    assert '"RunResult" has no attribute "passed_ids"' in done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel and sources, built as a release builds them."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_what_is_built_is_complete_and_runs_without_extras(dist: Path) -> None:
    """The whole of ``scripts/check_wheel.py``: contents, a clean installation of the core, a bundled run."""
    script = str(ROOT / "scripts" / "check_wheel.py")
    done = subprocess.run([sys.executable, script, str(dist)], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "installed without extras and run" in done.stdout


def test_the_readme_of_a_release_needs_no_file_beside_it() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "project_urls.py"))
    told = script["with_addresses"](
        (ROOT / "README.md").read_text(encoding="utf-8"), "https://forge.test/o/r/", "v1.2.3"
    )
    targets = re.findall(r"\]\(([^)]+)\)", told)
    assert targets
    assert [target for target in targets if not target.startswith("https://")] == []
    assert (
        "![One failed entry: the expected call next to the call of the model](https://forge.test/o/r/raw/v1.2.3/docs/"
        in told
    )
    assert "pip install pytest-bfcl " in told
    assert "not on the package index yet" not in told


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("pytest-bfcl (1.0)\nAvailable versions: 1.0, 0.9", "is there, without 0.2.0"),
        ("Available versions: 0.3, 0.2.0", "is published already"),
        ("ERROR: No matching distribution found for pytest-bfcl", "is free"),
        ("WARNING: Retrying … Connection refused", "nothing is known"),
    ],
)
def test_what_the_index_says_of_the_name(told: str, said: str) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "check_wheel.py"))
    assert said in script["index_says"]("pytest-bfcl", "0.2.0", told)


@pytest.mark.slow
def test_what_is_missing_or_too_much_is_found(dist: Path) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "check_wheel.py"))
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel, tarfile.open(next(dist.glob("*.tar.gz"))) as source:
        names, files = wheel.namelist(), source.getnames()
    assert script["wheel_faults"](names) == []
    assert script["sdist_faults"](files) == []
    gone = [name for name in names if "prices.json" not in name and "simple_java.jsonl" not in name]
    assert len(script["wheel_faults"](gone)) == 2
    assert script["wheel_faults"]([*names, "tests/test_x.py", "pytest_bfcl/__pycache__/x.pyc"])
    assert script["sdist_faults"]([name for name in files if not name.endswith("contracts.md")])
    assert script["wheel_faults"]([*names, "pytest_bfcl/_bundled/BFCL_v4_live_simple.json"])
    assert script["size_faults"]({"a.whl": 60_000_000, "a.tar.gz": 1}) == ["too large: a.whl has 60,000,000 bytes"]


def test_every_verb_is_tried_with_the_core_alone() -> None:
    """And what is missing has to be named with what installs it."""
    from pytest_bfcl.cli import commands

    script = runpy.run_path(str(ROOT / "scripts" / "core_alone.py"))
    assert set(script["USES"]) == set(commands())
    assert script["NAMED"].search('looking at runs needs the package starlette: pip install "pytest-bfcl[view]"')
    assert not script["NAMED"].search("No module named 'rich'")
