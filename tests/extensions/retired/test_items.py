"""Retired categories as items: only when named, skipped with the reason, in a table of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

MOVIE = {
    "type": "dict",
    "properties": {"movie_name": {"type": "string", "description": "Title."}},
    "required": ["movie_name"],
}


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    return pytester.runpytest_subprocess(
        "--model",
        "oracle:",
        "--bfcl-data",
        "bundled",
        "--bfcl-out",
        "run",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        *arguments,
    )


@pytest.mark.slow
def test_they_run_when_named_and_have_their_own_table(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--bfcl-categories", "exec_parallel,rest,sql,chatable,simple_java", "-n", "2")
    result.stdout.fnmatch_lines(
        [
            "simple_java *",
            "retired categories (no part of any overall score)",
            "exec_parallel *12/12*",
            "rest *12/12*",
            "sql *12/12*",
            "chatable *12/12*",
            "retired *48/48*",
        ]
    )
    assert result.ret == 0
    summary = json.loads((pytester.path / "run" / "summary.json").read_text())
    (model,) = summary["models"].values()
    assert model["groups"]["retired"]["passed"] == 48
    assert "retired" not in json.dumps(model["overall"])


@pytest.mark.slow
def test_they_are_not_part_of_a_plain_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--collect-only", "-q")
    assert "bfcl/simple_python.jsonl" in result.stdout.str()
    for name in ("exec_", "rest.jsonl", "sql.jsonl", "chatable"):
        assert f"bfcl/{name}" not in result.stdout.str()


@pytest.mark.slow
def test_what_lacks_a_recording_is_skipped_with_the_reason(pytester: pytest.Pytester) -> None:
    document = {"name": "get_movie_rating", "description": "", "parameters": MOVIE}
    entry = {
        "id": "exec_simple_0",
        "category": "exec_simple",
        "question": [[{"role": "user", "content": "Rating?"}]],
        "function": [document],
        "possible_answer": ["get_movie_rating(movie_name='Tides')"],
        "execution_result_type": ["exact_match"],
    }
    path = Path(pytester.path, "own.jsonl")
    path.write_text(json.dumps(entry) + "\n")
    result = run(pytester, str(path), "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs a recorded provider*"])
    folder = pytester.mkdir("recorded")
    line = {"call": ["call", "get_movie_rating", {"movie_name": "Tides"}], "result": "PG"}
    (folder / "a.jsonl").write_text(json.dumps(line) + "\n")
    again = pytester.runpytest_subprocess(
        "--model", "oracle:", str(path), "--bfcl-out", "two", "--bfcl-rest", f"replay:{folder}"
    )
    again.assert_outcomes(passed=1)
