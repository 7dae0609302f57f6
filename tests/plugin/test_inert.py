"""Without a model the plugin does nothing and costs nothing."""

from __future__ import annotations

from importlib import import_module

import pytest

from .conftest import Project

HEAVY = ("pydantic", "httpx", "litellm", "numpy", "scipy", "rich", "jinja2", "asyncio", "pytest_bfcl.dataset")


def test_a_whole_ordinary_session_imports_nothing_heavy(project: Project) -> None:
    """Modules of ours that a session without a model has loaded at its end: the entry point and its options."""
    project.pytester.makepyfile("def test_one(): pass")
    project.pytester.makeconftest(
        """
        import sys
        def pytest_unconfigure(config):
            print("LOADED", *sorted(name for name in sys.modules if name.startswith("pytest_bfcl")))
            print("HEAVY", *[name for name in ("litellm", "httpx", "pydantic", "tree_sitter", "scipy", "numpy", "rich",
                                               "jinja2", "aiohttp", "mpmath") if name in sys.modules])
        """
    )
    result = project.run("-p", "no:html", "-s", model=None, data=None, out=None, subprocess=True)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["HEAVY"])
    (loaded,) = [line for line in result.outlines if line.startswith("LOADED")]
    names = loaded.split()[1:]
    assert "pytest_bfcl.plugin" in names
    assert len(names) <= 13, names
    light = {"plugin", "run_options", "settings", "failures", "json_types", "plain_text"}
    assert not [name for name in names if not light.issuperset(name.split(".")[1:2])]


def test_our_modules_are_imported_as_python_does() -> None:
    """pytest rewrites the assertions of plugins' packages: three seconds where no bytecode may be written."""
    assert type(import_module("pytest_bfcl.session.run").__loader__).__name__ == "SourceFileLoader"


def test_another_plugin_may_own_the_short_option(project: Project) -> None:
    project.pytester.makepyfile(
        foreign="""
        def pytest_addoption(parser):
            parser.addoption("--model", default="theirs")
        def pytest_report_header(config):
            return f"their model is {config.getoption('model')}"
        """
    )
    project.pytester.syspathinsert()
    result = project.run("-p", "foreign", "--bfcl-model", "scripted:script.json", "--model", "mine", model=None)
    result.stdout.fnmatch_lines(["their model is mine"])
    result.assert_outcomes(passed=11)


HOSTS = {
    "option of its own": 'parser.addoption("--model", default="theirs")',
    "in a group": 'parser.getgroup("llm").addoption("--model", action="append", default=[])',
    "with a short name": 'parser.addoption("-M", "--model", dest="the_model")',
    "choices": 'parser.addoption("--model", choices=["small", "large"], default="small")',
    "a flag": 'parser.addoption("--model", action="store_true")',
    "other names of ours": 'parser.addoption("--models", default="x"); parser.addini("model", "theirs")',
    "an ini name of ours": 'parser.addini("bfcl_data", "theirs")',
    "guarded": """
            try:
                parser.addoption("--model", default="theirs")
            except ValueError:
                pass""",
}


@pytest.mark.parametrize(
    ("theirs", "place"),
    [*((each, ".") for each in HOSTS.values()), *((HOSTS["choices"], n) for n in ("sub", "sub/deeper"))],
)
def test_a_hosts_conftest_with_an_option_of_that_name_stays_green(project: Project, theirs: str, place: str) -> None:
    """At the root, or in a folder that is read after the command line."""
    folder = project.path / place
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conftest.py").write_text(f"def pytest_addoption(parser):\n            {theirs.lstrip()}\n")
    (folder / "test_theirs.py").write_text("def test_theirs(): pass\n")
    result = project.run("-p", "no:cacheprovider", str(project.path), model=None, data=None, out=None)
    result.assert_outcomes(passed=1)
    assert result.ret == 0


def test_a_host_may_leave_us_out_and_have_our_option(project: Project) -> None:
    (project.path / "conftest.py").write_text(f"def pytest_addoption(parser):\n    {HOSTS['option of its own']}\n")
    (project.path / "test_theirs.py").write_text(
        "def test_theirs(request): assert request.config.getoption('--model') == 'x'\n"
    )
    words = ("-p", "no:bfcl", "--model", "x", "-o", "addopts=", str(project.path / "test_theirs.py"))
    result = project.run(*words, model=None, data=None, out=None, subprocess=True)
    result.assert_outcomes(passed=1)


def test_a_run_opens_with_nobodys_warnings(project: Project) -> None:
    """pytest-asyncio, which an extra of ours brings, warns every session without an ini file."""
    (project.path / "tox.ini").write_text("[pytest]\n")
    result = project.run("-q", subprocess=True)
    result.assert_outcomes(passed=11)
    assert "Warning" not in result.stderr.str() + result.stdout.str()
