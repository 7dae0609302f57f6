from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import clean_url, template_fingerprint
from pytest_bfcl.runs.journal import Journal, ReplyKey, Requests
from pytest_bfcl.runs.merge import find_runs, merge_runs
from pytest_bfcl.runs.result_line import EntryKey
from pytest_bfcl.runs.results import error_record
from pytest_bfcl.runs.snapshots import archive_digest, snapshots_of
from pytest_bfcl.transcript import Reply
from tests.runs.samples import SPEC, fingerprint, single

ERROR = AdapterError("timeout", "slow").verdict


def shard(path: Path, records: list[dict[str, Any]], state: str = "finished", **changes: Any) -> Path:
    with RunDirectory.create(path, fingerprint(**changes)) as run:
        for record in records:
            run.append(record)
        run.state(state)
    return path


def error(entry_id: str) -> dict[str, Any]:
    return error_record(entry_id, "simple_python", SPEC, "fc", ERROR)


def outcomes(run: RunDirectory) -> dict[str, str]:
    return {record["id"]: record["outcome"] for record in run.records()}


def of(**outcomes: str) -> list[dict[str, Any]]:
    """Lines of entries with these outcomes."""
    lines = ((f"simple_python_{name.removeprefix('e')}", outcome) for name, outcome in outcomes.items())
    return [error(name) if outcome == "error" else single(name, valid=outcome == "passed") for name, outcome in lines]


def test_where_runs_overlap_verdicts_beat_errors_and_the_last_verdict_wins(tmp_path: Path) -> None:
    a = shard(tmp_path / "a", of(e1="passed", e2="error", e3="error", e4="passed"))
    b = shard(tmp_path / "b", of(e1="error", e2="passed", e3="error", e4="failed"), state="stopped:budget")
    merged = merge_runs([a, b], tmp_path / "out")
    assert list(outcomes(merged).values()) == ["passed", "passed", "error", "failed"]
    assert merged.fingerprint.state == "finished"  # another one of the same part ended
    assert len(merged.results_path.read_bytes().splitlines()) == 4


@pytest.mark.parametrize(
    ("parts", "state", "selection"),
    [
        (["1/2", "2/2"], "finished", {}),
        (["2/2", "1/2"], "finished", {}),
        (["1/2"], "stopped:parts are missing: 2/2", {"shard": "1/2"}),
        (["1/3", "3/3"], "stopped:parts are missing: 2/3", {"shard": ["1/3", "3/3"]}),
    ],
)
def test_parts_make_the_whole(tmp_path: Path, parts: list[str], state: str, selection: dict[str, Any]) -> None:
    for number, part in enumerate(parts):
        shard(tmp_path / "parts" / str(number), [single(f"simple_python_{number}")], selection={"shard": part})
    found = list(find_runs([tmp_path / "parts"]))
    assert [path.name for path in found] == [str(number) for number in range(len(parts))]
    merged = merge_runs(found, tmp_path / "out")
    assert [*outcomes(merged)] == [f"simple_python_{number}" for number in range(len(parts))]
    assert (merged.fingerprint.state, merged.fingerprint.selection) == (state, selection)


def test_lost_lines_are_told(tmp_path: Path) -> None:
    short = shard(tmp_path / "short", of(e1="passed"), counted={SPEC: {"simple_python": 3}})
    assert merge_runs([short], tmp_path / "out").fingerprint.state == f"stopped:lines are missing in {short}"
    with pytest.raises(UsageError, match=r"there is no run at .*: it does not exist"):
        list(find_runs([tmp_path / "nothing"]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="it holds none"):
        list(find_runs([tmp_path / "empty"]))


def test_journals_transcripts_recordings_and_snapshots_come_along(tmp_path: Path) -> None:
    keys = [ReplyKey(SPEC, "fc", f"e{n}", 1, 0, 0, "0" * 64) for n in range(2)]
    for number, key in enumerate(keys):
        with (
            RunDirectory.create(tmp_path / str(number), fingerprint()) as run,
            Journal(run.path / "journal") as journal,
        ):
            journal.record(key, Reply(str(number)), Requests("").delta([{"number": number}], [{"name": "f"}]))
        with RunDirectory.start(tmp_path / str(number), fingerprint()) as run:
            snapshots_of(run.path, SPEC).save("kv", f"scenario{number}", "x", number)
        (run.path / "journal" / "odd.jsonl").mkdir()  # passed over
        for folder in ("web", "rest"):
            (run.path / folder).mkdir()
            (run.path / folder / "main.jsonl").write_text(f'{{"call": {number}, "result": 1}}\n')
    merged = merge_runs([tmp_path / "0", tmp_path / "1"], tmp_path / "out")
    assert [Journal(merged.path / "journal").find(key) for key in keys] == [Reply("0"), Reply("1")]
    for number in range(2):
        found = merged.transcripts.load(EntryKey(SPEC, "fc", f"e{number}"))
        assert found is not None
        assert (found["messages"][0], found["functions"]) == ({"number": number}, [{"name": "f"}])
    assert snapshots_of(merged.path, SPEC).load("kv", "scenario0") == 0
    for folder in ("web", "rest"):
        assert archive_digest(merged.path / folder) not in (None, archive_digest(tmp_path / "0" / folder))
        assert len(list((merged.path / folder).iterdir())) == 2
    # And it can be continued.
    RunDirectory.start(tmp_path / "out", fingerprint()).close()


HALF = {"categories": ["live", "multi_turn"], "ids": ["live_simple_1", "live_simple_2"], "sample": 9, "shard": "2/2"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"dataset_sha256": "0" * 64}, "data SHA-256: "),
        ({"selection": HALF | {"categories": ["live"]}}, "categories: live, multi_turn → live"),
        ({"selection": HALF | {"ids": ["live_simple_1"]}}, "ids: live_simple_1, live_simple_2 → live_simple_1"),
        ({"selection": HALF | {"ids": [*"abcde"]}}, "ids: live_simple_1, live_simple_2 → a, b, c, d, e\n"),
        ({"selection": HALF | {"ids": [*"abcdef"]}}, "ids: live_simple_1, live_simple_2 → a, b, c, d, e … (6 in all, "),
        ({"selection": HALF | {"sample": 8}}, "sample: 9 → 8"),
        ({"selection": HALF | {"shard": "2/3"}}, "shards: 2 → 3"),
        ({"selection": HALF | {"shard": None}}, "shards: 2 → none"),
        ({"selection": HALF | {"keywords": "x"}}, "keywords: none → x"),
        ({"conditions": {"repeat": 2, "seed": 0}}, "repeat: 1 → 2"),
        ({"conditions": {"repeat": 1, "seed": 7}}, "seed: 0 → 7"),
    ],
)
def test_parts_that_do_not_fit_are_refused_as_a_whole(
    tmp_path: Path, changes: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    same = {"selection": HALF, "conditions": {"repeat": 1, "seed": 0}}
    first = shard(tmp_path / "a", [single("simple_python_1")], **same | {"selection": HALF | {"shard": "1/2"}})
    other = shard(tmp_path / "b", [single("simple_python_2")], **same | changes)
    assert main(["merge", str(first), str(other), "-o", str(tmp_path / "out")]) == 1
    assert f"  {told}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"1/3": "finished", "3/3": "finished"}, "parts are missing: 2/3"),
        ({"1/2": "finished", "2/2": "empty"}, "{}/2-2 has no results"),
        ({"1/2": "finished", "2/2": "stopped:budget"}, "{}/2-2 is not finished (budget)"),
        ({"1/2": "running", "2/2": "finished"}, "{}/1-2 is not finished (running)"),
    ],
)
def test_what_a_set_of_parts_lacks_is_named_and_no_score_is_claimed(
    tmp_path: Path, parts: dict[str, str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for part, state in parts.items():
        lines = [] if state == "empty" else [single(f"simple_python_{part[0]}")]
        state = "finished" if state == "empty" else state
        shard(tmp_path / "parts" / part.replace("/", "-"), lines, state, selection={"shard": part})
    assert main(["merge", str(tmp_path / "parts"), "-o", str(tmp_path / "out")]) == 1
    assert f"no score is claimed: {told.format(tmp_path / 'parts')}" in capsys.readouterr().err
    (model,) = json.loads((tmp_path / "out" / "summary.json").read_text())["models"].values()
    assert model["overall"]["value"] is None
    assert not any(found["complete"] for found in (model["overall"], *model["groups"].values()))


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_merge_that_fails_leaves_no_half(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(*_: Any) -> None:
        raise error

    part, out = shard(tmp_path / "a", [single("simple_python_1")]), tmp_path / "out"
    monkeypatch.setattr("pytest_bfcl.runs.merge._copy_files", broken_off)
    with pytest.raises(error):
        merge_runs([part], out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("url", "clean"),
    [(None, None), ("", None), ("http://u:p@h:1/v1?key=x#y", "http://h:1/v1"), ("https://h", "https://h")],
)
def test_an_address_is_written_without_secrets(url: str | None, clean: str | None) -> None:
    assert clean_url(url) == clean


def test_a_template_of_ones_own_is_told_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "chat.jinja"
    path.write_text("{{ messages }}")
    first = str(template_fingerprint(str(path)))
    path.write_text("{{ tools }}")
    assert first.startswith("chat.jinja:")
    assert first != template_fingerprint(str(path))


def test_there_must_be_something_to_merge(tmp_path: Path) -> None:
    a = shard(tmp_path / "a", [])
    with pytest.raises(UsageError, match="one of the runs"):
        merge_runs([a], a)
    with pytest.raises(UsageError, match="nothing to merge"):
        merge_runs([], tmp_path / "out")
