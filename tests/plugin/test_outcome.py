"""What an entry's end and a session's end leave: report, record, summary, pages, exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.plugin import session_end
from tests.reporting.samples import packed_pages

from .conftest import FULL, Project, call


def test_a_mistake_of_the_model_is_a_failure_with_one_tag(project: Project) -> None:
    project.fail("simple_python_1")
    project.script["multiple_0"] = "It is sunny."
    result = project.run("-m", "non_live", "-rf")
    result.assert_outcomes(passed=6, failed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([
        "WRONG_ANSWER: value_error:string",
        "FAILED bfcl/simple_python.jsonl::simple_python_1 - WRONG_ANSWER value_error:s*",
        "FAILED bfcl/multiple.jsonl::multiple_0 - MALFORMED_OUTPUT *",
    ])  # fmt: skip
    assert "Traceback" not in result.stdout.str()
    by_id = {record["id"]: record for record in project.records()}
    wrong = by_id["simple_python_1"]
    assert (wrong["outcome"], wrong["tag"], wrong["reason"]) == ("failed", "WRONG_ANSWER", "value_error:string")
    assert wrong["output"] == call("Rome")
    assert by_id["multiple_0"]["tag"] == "MALFORMED_OUTPUT"
    assert by_id["simple_python_0"]["outcome"] == "passed"
    summary = project.summary()
    (model,) = summary["models"].values()
    assert model["categories"]["simple_python"]["accuracy"] == 0.75
    assert json.loads((project.path / "run" / "run.json").read_text())["state"] == "finished"
    assert (project.path / "run" / "journal" / "main.jsonl").exists()


def test_own_hooks(project: Project) -> None:
    project.pytester.makeconftest(
        """
        def pytest_bfcl_result(record): print("got", record["id"], record["outcome"])
        def pytest_bfcl_summary(summary): print("sum", list(summary["models"]))
        def pytest_bfcl_register_models(register):
            register("mine", lambda spec, settings, mode: lambda messages, tools: "no call")
        """
    )
    result = project.run("-m", "irrelevance", "-s", model="mine:thing")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*got irrelevance_1 passed*", "*sum ?'mine:thing@fc'?*"])


def test_prices_from_the_model_info_file(project: Project) -> None:
    (project.path / "info.toml").write_text(
        '[models."scripted:script.json@fc"]\nname = "Script"\ninput_price = 2.0\noutput_price = 4.0\n'
    )
    project.script["*"] = {"tool_calls": call(), "input_tokens": 1_000_000, "output_tokens": 500_000}
    args = ("-m", "multiple", "--bfcl-model-info=info.toml", "--bfcl-gpu-hour=3600")
    result = project.run(*args)
    assert [record["cost_usd"] for record in project.records()] == [4.0, 4.0]
    result.stdout.fnmatch_lines(["*cost 8.0000 USD*", "machine: * USD"])
    assert project.summary()["model_info"]["scripted:script.json@fc"]["name"] == "Script"


def test_assertions_hide_our_frames(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from pytest_bfcl.extensions.own.assertions import assert_calls

        TOOL = {"name": "greet", "description": "Greets.", "parameters": {
            "type": "dict", "properties": {"name": {"type": "string", "description": "Who."}}, "required": ["name"]}}

        def test_greeting():
            assert_calls([{"name": "greet", "arguments": {"name": "Bob"}}], [TOOL], expected={"greet": {"name": "Ann"}})
        """
    )
    result = pytester.runpytest("-p", "no:asyncio")
    result.assert_outcomes(failed=1)
    assert "assertions.py" not in result.stdout.str()
    assert "value_error" in result.stdout.str()


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
    project.run("--bfcl-concurrency=2", "--bfcl-repeat=2", FULL, *workers).assert_outcomes(passed=18, failed=4)
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
    result = project.run(FULL)
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
    result = project.run(FULL)
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
