"""Which entries become items, under which ids, in which order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.distributed import WORKERS

from .conftest import WEATHER, Project, question, write_lines


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line and " " not in line]


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no_function": ({"function": []}, "function: no function is offered*"),
    "unknown_function": (
        {"possible_answer": [{"get_wether": {"city": ["Oslo"]}}]},
        "possible_answer?0?: the answer calls 'get_wether', which is not offered",
    ),
    "unknown_parameter": (
        {"possible_answer": [{"get_weather": {"city": ["Oslo"], "town": ["Oslo"]}}]},
        "possible_answer?0?.get_weather.town: the answer names a parameter the function does not have",
    ),
    "type_name": (
        {"function": [{**WEATHER, "parameters": {**WEATHER["parameters"], "properties": {"city": {"type": "text"}}}}]},
        "function?0?.parameters.properties.city.type: get_weather.city: type 'text' is not one*",
    ),
    "required": (
        {"function": [{**WEATHER, "parameters": {**WEATHER["parameters"], "required": ["town"]}}]},
        "function?0?.parameters.required: get_weather: required parameter 'town' is not documented",
    ),
    "no_answer": ({"possible_answer": []}, "possible_answer: no possible_answer*"),
}


@pytest.mark.parametrize("workers", WORKERS)
def test_a_broken_own_entry_is_a_collection_error_and_never_the_models_fault(
    project: Project, workers: tuple[str, ...]
) -> None:
    lines = [question("fine"), *(question(name) | fields for name, (fields, _) in BROKEN.items())]
    write_lines(project.path / "own.jsonl", lines)
    result = project.run("own.jsonl", *workers, data=None)
    result.assert_outcomes(passed=1, errors=len(BROKEN))
    for number, (name, (_, told)) in enumerate(BROKEN.items(), 2):
        result.stdout.fnmatch_lines([f"*own.jsonl:{number}: {name}: {told}"])
    found = {record["id"]: record["reason"] for record in project.records()}
    assert found == {"fine": None} | dict.fromkeys(BROKEN, "harness:data")
    assert len(project.records()) == 1 + len(BROKEN)
    assert result.ret == 1


def test_last_failed_also_beside_an_ordinary_failure(project: Project) -> None:
    project.pytester.makepyfile(test_x="def test_bad(): assert 0\ndef test_good(): pass")
    project.fail("simple_python_1", "multiple_0")
    args = ("test_x.py", "bfcl/simple_python.jsonl", "bfcl/multiple.jsonl")
    project.run(*args, out="one").assert_outcomes(passed=5, failed=3)
    project.run(*args, "--lf", out="two").assert_outcomes(failed=3)
    first = project.run(*args, "--ff", "-v", out="three")
    first.assert_outcomes(passed=5, failed=3)
    order = [line for line in first.outlines if " PASSED" in line or " FAILED" in line]
    assert [" FAILED" in line for line in order] == [True] * 3 + [False] * 5


@pytest.mark.parametrize("without", ["cacheprovider", "xdist", "asyncio", "html", "terminal"])
def test_without_other_plugins(project: Project, without: str) -> None:
    project.fail("multiple_0")
    result = project.run("-m", "multiple", "-p", f"no:{without}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert [record["outcome"] for record in project.records()] == ["failed", "passed"]


ONE = ("-m", "simple_python", "-p", "cacheprovider")


@pytest.mark.parametrize("workers", WORKERS)
def test_a_rerun_of_failures_is_no_score(project: Project, workers: tuple[str, ...]) -> None:
    project.fail("simple_python_0", "simple_python_2")
    project.run(*ONE, out="first")
    result = project.run(*ONE, "--lf", *workers, out="second")
    result.assert_outcomes(failed=2)
    told = "a rerun of entries that failed before (--lf): no score: 0 of 2 pass now"
    assert told in result.outlines
    assert not any("0/2" in line or "0.0 %" in line for line in result.outlines)
    overall = next(iter(project.summary("second")["models"].values()))["overall"]
    assert overall["value"] is None
    assert "--lf" in overall["why"]
