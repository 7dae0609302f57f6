"""What an entry's end looks like: report, record, summary, exit code."""

from __future__ import annotations

import json

import pytest

from .conftest import Project, call


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
