"""``--bfcl-split``: what runs, what is marked, and that no place loses the mark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.selection.splits import Split

from .conftest import FULL, WEATHER, Project, question, write_lines


def entry(entry_id: str, number: int) -> dict[str, Any]:
    name = f"get_weather_{number // 2}"  # pairs of entries share a function
    changed = question(entry_id, f"City {number}")
    answer = [{name: {"city": [f"City {number}"]}}]
    return changed | {"function": [WEATHER | {"name": name}], "possible_answer": answer}


@pytest.fixture
def halves(project: Project) -> tuple[Project, Split]:
    """A project of twenty entries in pairs, and its split ``half.json``."""
    for path in (project.path / "bench").iterdir():
        path.unlink()
    write_lines(project.path / "bench/simple_python.jsonl", [entry(f"simple_python_{n}", n) for n in range(14)])
    live = [entry(f"live_simple_{n}-{n}-0", 20 + n) for n in range(6)]
    write_lines(project.path / "bench/live_simple.jsonl", live)
    command = ["new", "split", "bench", "--train", "0.5", "--seed", "7", "-o", "half.json"]
    assert main(command) == 0
    return project, Split.read(project.path / "half.json")


def ids(project: Project, out: str) -> list[str]:
    return sorted(record["id"] for record in project.records(out))


def test_trained_entries_are_marked_everywhere(
    halves: tuple[Project, Split], capsys: pytest.CaptureFixture[str]
) -> None:
    project, split = halves
    trained = len(split.ids("train"))
    result = project.run("--bfcl-split", "trained-on=half.json", FULL, model="oracle:", out="seen")
    result.stdout.fnmatch_lines([
        f"overall: not claimed, the model was trained on {trained} of these 20 entries",
        f"*trained on {trained} entries of half.json ({split.sha256[:8]})*",
    ])  # fmt: skip
    marked = {record["id"] for record in project.records("seen") if record.get("trained_on")}
    assert marked == set(split.ids("train"))
    (model,) = project.summary("seen")["models"].values()
    assert model["trained_on"] == {"entries": trained, "of": 20}
    assert f"was trained on {trained} of the 20 entries" in (project.path / "seen/index.html").read_text()

    project.run(model="lexical:", out="plain")
    capsys.readouterr()
    assert main(["compare", "seen", "plain", "--markdown", "c.md"]) in (0, 1)
    assert f"seen: the model was trained on {trained} of the entries" in capsys.readouterr().out
    assert main(["leaderboard", "seen", "plain", "-o", "board"]) == 0
    page = (project.path / "board/index.html").read_text()
    assert f"the model was trained on {trained} of these 20 entries" in page
    for official in ([], ["--official"]):
        assert main(["export", "seen", "--layout", "csv", "-o", "csv", *official]) == 0
        tables = [path.read_text() for path in (project.path / "csv").glob("*.csv")]
        rows = [line for text in tables for line in text.splitlines() if "oracle" in line]
        assert rows
        assert all(f"[trained on {trained} of these entries]" in row for row in rows)


def test_mistakes_are_said(halves: tuple[Project, Split]) -> None:
    project, split = halves
    write_lines(project.path / "other.jsonl", [question("simple_python_0")])
    (named, *_) = split.ids("train")
    (test, *_) = split.parts["test"]["simple_python"]
    (project.path / "ids.txt").write_text(named)
    (project.path / "broken.json").write_text("{")
    mistakes = {
        ("--bfcl-split", "missing.json"): "*--bfcl-split: cannot read the split missing.json*",
        ("--bfcl-split", "broken.json"): "*broken.json is no split, or is damaged*",
        ("--bfcl-split", "half.json:dev"): "*train or test, not 'dev'*",
        ("--bfcl-split", "trained-on=half.json:test"): "*trained on the training part*",
        ("--bfcl-split", "half.json", "--bfcl-ids", "ids.txt"): "*none of the entries of --bfcl-ids is in the test*",
        ("--bfcl-split", "half.json", f"bfcl/simple_python.jsonl::{split.parts['train']['simple_python'][0]}"):
            "*is not in the test part of half.json*",
    }  # fmt: skip
    for args, message in mistakes.items():
        result = project.run(*args, model="oracle:", out="mistake")
        assert result.ret == pytest.ExitCode.USAGE_ERROR, args
        result.stderr.fnmatch_lines([message])
        assert len(result.errlines) <= 6
    for part in ("half.json", "trained-on=half.json"):
        result = project.run("--bfcl-split", part, data="other.jsonl", model="oracle:", out="mistake")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*half.json was made of bench *not of other*"])
    result = project.run("--bfcl-split", "half.json", f"bfcl/simple_python.jsonl::{test}", model="oracle:", out="one")
    assert ids(project, "one") == [test]


def test_one_transformed_entry_by_its_id_sample_and_rescoring(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.script |= {f"irrelevance_{n}~upper-case": "No." for n in range(2)}
    options = ("--bfcl-transform=upper-case",)
    project.run("bfcl/simple_python.jsonl::simple_python_1~upper-case", *options, out="one").assert_outcomes(passed=1)
    project.run("--bfcl-sample=3", *options, out="few").assert_outcomes(passed=6, deselected=16)
    assert len({record["id"].partition("~")[0] for record in project.records("few")}) == 3
    path = str(project.path / "few" / "results.jsonl")
    assert main(["score", path, "--data", str(project.path / "bench"), "-o", str(project.path / "judged.jsonl")]) == 0
    judged = [json.loads(line) for line in (project.path / "judged.jsonl").read_text().splitlines()]
    assert all(line["valid"] for line in judged)
    assert len(judged) == 6
    assert main(["export", str(project.path / "few"), "-o", str(project.path / "official")]) == 0
    exported = "".join(path.read_text() for path in (project.path / "official").rglob("*.json"))
    assert "~" not in exported
    assert "simple_python" in exported
