"""Replayed models carry the name and mode of their lines everywhere: results, fingerprint, continuing, expectations."""

from __future__ import annotations

import json

import pytest

from .conftest import Project, call, write_lines


@pytest.fixture
def replayed(project: Project) -> Project:
    """The project, and ``stored.jsonl`` with right answers in prompting mode except for one wrong one."""
    lines = []
    for number in range(4):
        city = "Rome" if number == 1 else "Oslo"
        lines.append({"id": f"simple_python_{number}", "mode": "prompt", "output": f"[get_weather(city='{city}')]"})
    write_lines(project.path / "stored.jsonl", lines)
    return project


def test_name_and_mode_are_those_of_the_lines(replayed: Project) -> None:
    result = replayed.run("-m", "simple_python", model="replay:stored.jsonl")
    result.assert_outcomes(passed=3, failed=1)
    (model,) = json.loads((replayed.path / "run" / "run.json").read_text())["models"]
    assert (model["model"], model["mode"]) == ("replay:stored@prompt", "prompt")
    assert {(record["model"], record["mode"]) for record in replayed.records()} == {("replay:stored@prompt", "prompt")}
    again = replayed.run("-m", "simple_python", model="replay:stored.jsonl")
    assert again.ret == pytest.ExitCode.TESTS_FAILED
    assert len(replayed.records()) == 4


def test_expected_failures_are_found_again(replayed: Project) -> None:
    options = ("-m", "simple_python")
    replayed.run(*options, "--bfcl-write-expected", "known.json", model="replay:stored.jsonl")
    result = replayed.run(*options, "--bfcl-expected", "known.json", model="replay:stored.jsonl", out="second")
    result.assert_outcomes(passed=3, xfailed=1)


def test_several_stored_models_side_by_side(replayed: Project) -> None:
    native = [{"id": f"simple_python_{number}", "mode": "fc", "output": call()} for number in range(4)]
    write_lines(replayed.path / "native.jsonl", native)
    options = ("-m", "simple_python", "--model", "replay:native.jsonl")
    replayed.run(*options, model="replay:stored.jsonl").assert_outcomes(passed=7, failed=1)
    assert sorted(replayed.summary()["models"]) == ["replay:native@fc", "replay:stored@prompt"]
