from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.runs import EntryKey, ModelFingerprint, ReplyKey, RunDirectory, default_path, error_record
from pytest_bfcl.runs.directory import is_run, join_selections
from pytest_bfcl.scoring import summarise
from pytest_bfcl.transcript import Reply
from tests.runs.samples import SPEC, conversation, fingerprint, single


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
    assert read.done() == {EntryKey(SPEC, "fc", "simple_python_1"), EntryKey(SPEC, "fc", "simple_python_2")}
    assert read.summary() == summary
    assert read.damaged() == []
    assert is_run(path)
    with pytest.raises(HarnessError, match="reading only"):
        read.append(single())


def test_naming_an_existing_run_continues_it(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunDirectory.start(path, fingerprint(started_at="2026-01-01T00:00:00Z")) as run:
        assert not run.continued
        run.append(single("simple_python_1"))
        run.append(error_record("simple_python_2", "simple_python", SPEC, "fc", HarnessError("data", "x").verdict))
        run.state("stopped:budget")
    with RunDirectory.start(path, fingerprint(selection={"categories": ["live"]})) as run:
        assert run.continued
        assert {key.entry_id for key in run.done()} == {"simple_python_1"}
        assert run.fingerprint.state == "running"
        assert run.fingerprint.started_at == "2026-01-01T00:00:00Z"
        assert run.fingerprint.selection == {"categories": ["simple_python", "live"]}
        run.append(single("simple_python_2"))
    assert len(RunDirectory.open(path).done()) == 2


def test_continuing_with_something_else_is_refused_and_says_what(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path / "run", fingerprint()).close()
    other = fingerprint(models=(ModelFingerprint(SPEC, "fc", {"temperature": 1.0}),), dataset_sha256="0" * 64)
    with pytest.raises(UsageError) as caught:
        RunDirectory.start(tmp_path / "run", other)
    assert f"temperature of {SPEC}: 0.001 → 1.0" in str(caught.value)
    assert "data SHA-256" in str(caught.value)
    assert "--bfcl-out" in str(caught.value)


def test_folders_with_other_content_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        RunDirectory.start(tmp_path, fingerprint())
    with pytest.raises(UsageError, match=r"no run\.json"):
        RunDirectory.open(tmp_path)
    (tmp_path / "empty").mkdir()
    RunDirectory.start(tmp_path / "empty", fingerprint()).close()
    with pytest.raises(UsageError, match="already holds a run"):
        RunDirectory.create(tmp_path / "empty", fingerprint())
    file = tmp_path / "note.txt"
    with pytest.raises(UsageError, match="not empty and not a run"):
        RunDirectory.start(file, fingerprint())


def test_a_broken_run_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UsageError, match=r"run\.json is damaged"):
        RunDirectory.open(tmp_path)


def test_two_writers_are_refused_across_processes(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom pytest_bfcl.runs import RunDirectory\n"
        "from tests.runs.samples import fingerprint\n"
        "run = RunDirectory.start(Path(sys.argv[1]), fingerprint())\nprint('open', flush=True)\nsys.stdin.read()\n"
    )
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", code, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(UsageError, match="another process is writing"):
            RunDirectory.start(tmp_path / "run", fingerprint())
        other.kill()
    # A killed writer leaves no lock behind.
    RunDirectory.start(tmp_path / "run", fingerprint()).close()


def test_journal_transcripts_and_snapshots_have_their_places(tmp_path: Path) -> None:
    key = ReplyKey(SPEC, "fc", "simple_python_1", 1, 0, 0, "f" * 64)
    _, transcript = conversation()
    with RunDirectory.create(tmp_path / "run", fingerprint()) as run:
        with run.journal("gw0") as journal:
            journal.record(key, Reply("hello"))
        run.save_transcript(transcript)
        store = run.snapshots(SPEC)
        assert store.load("kv", "student") is None
        store.save("kv", "student", "memory_kv_prereq_22-student-0", {"core_memory": {"a": "é"}})
        store.save("kv", "student", "memory_kv_prereq_23-student-1", {"core_memory": {"a": "b"}})
        assert run.snapshots(SPEC, repeat=2).load("kv", "student") is None
    again = RunDirectory.open(tmp_path / "run")
    assert again.journal().find(key) == Reply("hello")
    loaded = again.transcripts.load(EntryKey(SPEC, "fc", transcript.entry_id))
    assert loaded is not None
    assert loaded["messages"] == transcript.messages
    snapshots = again.snapshots(SPEC)
    assert snapshots.load("kv", "student") == {"core_memory": {"a": "b"}}
    assert snapshots.checkpoint("kv", "memory_kv_prereq_22-student-0") == {"core_memory": {"a": "é"}}
    assert snapshots.root.parent.parent == tmp_path / "run"


def test_hostile_names_stay_inside_the_run(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path / "run", fingerprint()) as run:
        store = run.snapshots("../../etc:x/y")
        store.save("../kv", "..", "../../outside", {})
        files = [path for path in tmp_path.rglob("*.json") if path.name != "run.json"]
        assert files
        assert all((tmp_path / "run" / "snapshots") in path.parents for path in files)


def test_a_damaged_snapshot_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path / "run", fingerprint()) as run:
        store = run.snapshots(SPEC)
        store.save("kv", "student", "a", {})
        store.final_path("kv", "student").write_text("{")
        with pytest.raises(HarnessError, match="delete it"):
            store.load("kv", "student")


def test_default_paths_are_readable_and_unique(tmp_path: Path) -> None:
    first = default_path(["openai:org/model@fc"], tmp_path)
    assert first.name.endswith("Z-openai_org_model@fc")
    first.mkdir()
    assert default_path(["a", "b"], tmp_path).name.endswith("-2-models")


def test_selections_are_united() -> None:
    joined = join_selections({"categories": ["a"], "shard": "1/2", "sample": 5}, {"categories": ["b"], "shard": "2/2"})
    assert joined == {"categories": ["a", "b"], "sample": 5}, "all shards together are the whole selection"
    assert join_selections({"shard": "1/3"}, {"shard": "3/3"}) == {"shard": ["1/3", "3/3"]}


@pytest.mark.parametrize("content", ["{}", '{"core_memory": {}}', '{"dataset": {}, "models": []}'])
def test_another_object_in_place_of_the_facts_is_no_run(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(UsageError, match=r"run.json does not describe a run: \w+ is missing"):
        RunDirectory.open(tmp_path)
