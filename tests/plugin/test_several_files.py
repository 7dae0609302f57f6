"""Several files of own entries in one run: all of them are measured, and none is mixed up with another."""

from __future__ import annotations

import json

import pytest

from pytest_bfcl.cli import main
from tests.distributed import WORKERS

from .conftest import FULL, Project, call, question, write_lines


@pytest.fixture
def files(project: Project) -> Project:
    write_lines(project.path / "a.jsonl", [question("one"), question("parallel_0")])
    write_lines(project.path / "b.jsonl", [question("two"), question("irrelevance_9") | {"possible_answer": None}])
    project.script["irrelevance_9"] = "No."
    return project


def test_all_files_are_run_and_hashed(files: Project) -> None:
    result = files.run("a.jsonl", "b.jsonl", data=None)
    result.assert_outcomes(passed=4)
    assert sorted(record["id"] for record in files.records()) == ["irrelevance_9", "one", "parallel_0", "two"]
    facts = json.loads((files.path / "run" / "run.json").read_text())["dataset"]
    assert facts["name"] == "a+b"
    assert sorted(facts["files"]) == ["a.jsonl", "b.jsonl"]
    again = files.run("b.jsonl", "a.jsonl", data=None)
    again.assert_outcomes(deselected=4)  # the same files in another order are the same run
    result.stdout.fnmatch_lines(["bfcl: * on a+b (*"])


def test_one_id_in_a_file_and_in_the_chosen_set_is_refused_too(files: Project) -> None:
    write_lines(files.path / "b.jsonl", [question("simple_python_0")])
    result = files.run("bfcl/simple_python.jsonl", "b.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*the id 'simple_python_0' occurs in *simple_python.jsonl:1 and in *b.jsonl:1*"])


@pytest.mark.parametrize("workers", WORKERS)
def test_entries_nobody_has_read_are_told(
    project: Project, workers: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [question("one") | {"reviewed": False}, question("two"), question("three") | {"reviewed": False}]
    path = write_lines(project.path / "made.jsonl", lines)
    result = project.run("made.jsonl", "--bfcl-repeat=2", FULL, *workers, data=None)
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["unreviewed: 2 of the entries were made by a program*"])
    assert {line["id"] for line in project.records() if line.get("unreviewed")} == {"one", "three"}
    assert next(iter(project.summary()["models"].values()))["unreviewed"] == 2
    assert "2 of the entries were made by a program" in (project.path / "run" / "index.html").read_text()
    assert main(["validate", str(path)]) == 0
    assert "3 entries (2 unreviewed)" in capsys.readouterr().err
    replayed = project.run("made.jsonl", model=f"replay:{project.path / 'run'}", data=None, out="again")
    replayed.stdout.fnmatch_lines(["unreviewed: 2 of the entries*"])
    path.write_text(path.read_text().replace('"reviewed": false', '"reviewed": true'))
    judged = project.path / "judged.jsonl"
    main(["score", str(project.path / "run"), "--data", str(path), "-o", str(judged)])
    project.run("made.jsonl", data=None, out="read").stdout.no_fnmatch_line("unreviewed: *")


@pytest.fixture
def replayed(project: Project) -> Project:
    """The project, and ``stored.jsonl`` with right answers in prompting mode except for one wrong one."""
    lines = []
    for number in range(4):
        city = "Rome" if number == 1 else "Oslo"
        lines.append({"id": f"simple_python_{number}", "mode": "prompt", "output": f"[get_weather(city='{city}')]"})
    write_lines(project.path / "stored.jsonl", lines)
    return project


def test_several_stored_models_side_by_side(replayed: Project) -> None:
    native = [{"id": f"simple_python_{number}", "mode": "fc", "output": call()} for number in range(4)]
    write_lines(replayed.path / "native.jsonl", native)
    options = ("-m", "simple_python", "--model", "replay:native.jsonl")
    replayed.run(*options, model="replay:stored.jsonl").assert_outcomes(passed=7, failed=1)
    assert sorted(replayed.summary()["models"]) == ["replay:native@fc", "replay:stored@prompt"]
