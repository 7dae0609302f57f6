from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.runs.directory import RunDirectory, default_path, is_run, same_results
from pytest_bfcl.runs.lines import DamagedLine
from pytest_bfcl.scoring.summary import summarise
from tests.runs.samples import SPEC, fingerprint, single


def test_a_run_is_written_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunDirectory.create(path, fingerprint()) as run:
        assert json.loads((path / "run.json").read_text())["state"] == "running"
        run.append(single("simple_python_1"))
        # Flushed: another reader sees it at once.
        assert [r["id"] for r in RunDirectory.open(path).records()] == ["simple_python_1"]
        run.append(single("simple_python_2", valid=False))
        summary = summarise([], fingerprint={"rules": "é"})
        run.write_summary(summary)
        run.state("finished")
    read = RunDirectory.open(path)
    assert read.fingerprint.state == "finished"
    assert read.fingerprint.ended_at is not None
    assert read.summary() == summary
    assert '\n  "rules": "é"' in (path / "summary.json").read_text("utf-8"), "for readers, too"
    assert [line["outcome"] for line in read.records()] == ["passed", "failed"]
    assert len(read.left_out) == 0
    assert is_run(path)
    with pytest.raises(HarnessError, match="reading only"):
        read.append(single())


def test_what_is_no_place_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "note.txt"):
        with pytest.raises(UsageError, match="not empty and not a run"):
            RunDirectory.start(path, fingerprint())
    with pytest.raises(UsageError, match="cannot create the run directory"):
        RunDirectory.create(tmp_path / "note.txt" / "run", fingerprint())
    (tmp_path / "empty").mkdir()
    RunDirectory.start(tmp_path / "empty", fingerprint()).close()


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with (
        RunDirectory.start(tmp_path / "run", fingerprint()),
        pytest.raises(UsageError, match="another process is writing"),
    ):
        RunDirectory.start(tmp_path / "run", fingerprint())
    RunDirectory.start(tmp_path / "run", fingerprint()).close()


def test_a_continued_run_is_one_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    earlier = {"archives": {"web": "1"}, "started_at": "2026-01-01T00:00:00Z"}
    with RunDirectory.start(path, fingerprint(**earlier)) as run:
        run.append(single("simple_python_1"))
        for number in (1, 2):
            (path / "rest").mkdir(exist_ok=True)
            (path / "rest" / "a.jsonl").write_text(f'{{"call": {number}, "result": 1}}\n')
        run.left_out(DamagedLine(path, 3, "torn"))
        model = {"model": SPEC, "categories": {"simple_python": {"total": 1}}}
        other = {"model": SPEC, "categories": {"simple_python": {"total": 2}, "live_simple": {"total": 3}}}
        run.write_summary({**summarise([]), "models": {"a": model, "b": other}})  # type: ignore[typeddict-item]
        made = run.fingerprint
    assert made.counted == {SPEC: {"simple_python": 3, "live_simple": 3}}
    assert (made.left_out, set(made.archives), len(made.archives["rest"])) == (1, {"web", "rest"}, 64)
    with RunDirectory.start(path, fingerprint(archives={"web": "2", "rest": "3"}, planned=7)) as run:
        now = run.fingerprint
    assert (now.counted, now.left_out, now.planned) == (made.counted, 1, 7)
    assert now.archives == made.archives
    with RunDirectory.start(path, fingerprint()) as run:
        assert run.gaps() == [
            f"{run.results_path} has 1 of 3 lines of simple_python ({SPEC})",
            f"{run.results_path} has 0 of 3 lines of live_simple ({SPEC})",
        ]


def test_damage_is_a_gap_only_beyond_what_was_left_out_before(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path / "run", fingerprint()) as run:
        run.append(single("simple_python_1"))
        (tmp_path / "run" / "results.jsonl").open("ab").write(b"torn\n")
        met: list[DamagedLine] = []
        assert [len(list(run.records(met.append))), len(met), len(run.left_out)] == [1, 1, 1]
        assert [line.line for line in met] == [2]
        assert len(run.gaps()) == 1
        run.update(replace(run.fingerprint, left_out=1))
        assert run.gaps() == []
        assert len(run.stored_records()) == 1
    gone = RunDirectory.open(tmp_path / "run")
    gone.results_path.unlink()
    assert list(gone.records()) == []
    gone.results_path.mkdir()
    with pytest.raises(UsageError, match="is no file: remove it"):
        gone.records()


def test_a_refused_run_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "run"
    RunDirectory.create(path, fingerprint()).close()
    before = (path / "run.json").read_bytes()
    refused = RunDirectory.start(path, fingerprint(planned=3))
    refused.withdraw()
    with RunDirectory.start(path, fingerprint(planned=3)) as refused:  # its lock was given back
        refused.withdraw()
    assert (path / "run.json").read_bytes() == before
    RunDirectory.create(tmp_path / "new", fingerprint()).withdraw()
    assert not (tmp_path / "new").exists()
    run = RunDirectory.create(tmp_path / "other", fingerprint())
    (tmp_path / "other" / "engine.log").write_text("x")
    run.withdraw()
    assert RunDirectory.open(tmp_path / "other").fingerprint.state == "stopped:refused"


@pytest.mark.parametrize(
    ("content", "said"),
    [("{", "is damaged"), ("[1]", "is damaged"), ('{"models": {"a": "\\ud800"}}', "half a character"),
     ("[" * 9000, "too deeply")],
)  # fmt: skip
def test_a_broken_summary_is_named(tmp_path: Path, content: str, said: str) -> None:
    with RunDirectory.create(tmp_path / "run", fingerprint()) as run:
        assert run.summary() is None
        (tmp_path / "run" / "summary.json").write_text(content)
        with pytest.raises(UsageError, match=said):
            run.summary()


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "damaged or unreadable: not JSON"), ("[]", "does not describe a run"), ("{}", "dataset is missing"),
     ('{"dataset": {}, "models": [{"model": 1}]}', "models.0.model: "), ('{"a": "\\ud800"}', "half a character")],
)  # fmt: skip
def test_a_broken_run_is_named(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "run.json").write_text(content)
    for read in (RunDirectory.open, lambda path: RunDirectory.start(path, fingerprint())):
        with pytest.raises(UsageError, match=rf"{tmp_path}/run.json .*{said}"):
            read(tmp_path)


def test_results_of_one_run_are_known_by_their_first_line(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("b", 2), ("empty", 0)):
        with RunDirectory.create(tmp_path / name, fingerprint()) as run:
            run.append(single(f"simple_python_{number}"))
            run.append(single("simple_python_3"))
            if not number:
                run.results_path.write_text("")
    copied = shutil.copytree(tmp_path / "a", tmp_path / "copied")
    with (copied / "results.jsonl").open("a") as lines:
        lines.write("more\n")
    places = ("a", "a/results.jsonl", "copied", "b", "empty", "none")
    same = [name for name in places if same_results(tmp_path / "a", tmp_path / name)]
    assert same == ["a", "a/results.jsonl", "copied"]
    assert same == [name for name in places if same_results(tmp_path / name, tmp_path / "a")]
    assert same_results(tmp_path / "empty", tmp_path / "empty")
    assert not same_results(tmp_path / "empty", shutil.copytree(tmp_path / "empty", tmp_path / "other"))


def test_a_run_is_continued_with_more_and_never_as_another_measurement(tmp_path: Path) -> None:
    for chosen in ("live_simple", "parallel"):
        with RunDirectory.start(tmp_path / "run", fingerprint(selection={"categories": [chosen]})) as run:
            assert run.fingerprint.selection["categories"] == ["live_simple", "parallel"][: 1 + (chosen == "parallel")]
    with pytest.raises(
        UsageError, match="it measured something else\n  rules: official → corrected\nname another folder"
    ):
        RunDirectory.start(tmp_path / "run", fingerprint(rules="corrected"))
    with pytest.raises(UsageError, match="already holds a run"):
        RunDirectory.create(tmp_path / "run", fingerprint())


def test_names_of_new_runs(tmp_path: Path) -> None:
    assert default_path(["openai:org/model@fc"], tmp_path).name.endswith("Z-openai_org_model@fc")
    assert default_path(["a", "b"], tmp_path).name.endswith("-2-models")
    first = default_path(["m"], tmp_path)
    found = []
    for number in (None, 2, 3):
        (tmp_path / (first.name if number is None else f"{first.name}-{number}")).mkdir()
        found.append(default_path(["m"], tmp_path).name)
    assert found == [f"{first.name}-{number}" for number in (2, 3, 4)] or first.name not in found[0]  # the next second


def test_a_run_is_closed_twice_and_its_lock_given_back(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", fingerprint())
    run.append(single(), text='{"id":"x"}')
    lock, written = run._lock, run._results
    run.close()
    assert lock is not None, "given back, whoever still holds it"
    assert written is not None
    with pytest.raises(HarnessError, match="is closed"):
        written.append({})
    run.close()
    assert run.results_path.read_text() == '{"id":"x"}\n'
    RunDirectory.start(tmp_path / "run", fingerprint()).close()
