"""Memory snapshots and other files of a run: nothing is read or written outside of the folder that was named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.runs.lines import DamagedLine, IncompleteError, LeftOut
from pytest_bfcl.runs.paths import below, is_below, refuse_links_out, write_below, write_here
from pytest_bfcl.runs.snapshots import Snapshots, archive_digest, damaged_snapshots, snapshots_of

ODD_IDS = ["../../up", "a/b", "a_b", "a b", "..", ".", "x" * 10_000, "é", "a\\b", "c:d"]


def test_odd_ids_and_scenarios_get_files_of_their_own(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "snapshots")
    for odd in ODD_IDS:
        snapshots.save("kv", odd, odd, {"memory": odd})
    for odd in ODD_IDS:
        assert snapshots.checkpoint("kv", odd) == {"memory": odd}
        assert snapshots.load("kv", odd) == {"memory": odd}
    assert [path.name for path in tmp_path.iterdir()] == ["snapshots"]


def test_a_pipe_in_place_of_a_memory_is_not_waited_for(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    snapshots.save("kv", "student", "memory_kv_prereq_0-student-0", {"a": 1})
    final = snapshots.final_path("kv", "student")
    final.unlink()
    os.mkfifo(final)
    with pytest.raises(HarnessError, match=r"student_final\.json"):
        snapshots.load("kv", "student")
    final.unlink()
    final.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(HarnessError, match="damaged memory snapshot"):
        snapshots.load("kv", "student")


def write(folder: Path, name: str, *lines: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


ONE = {"call": ["search", "tea", 5, "wt-wt"], "result": [{"title": "Tea"}]}
TWO = {"call": ["fetch", "https://tea.example", "raw"], "result": {"content": "hot"}}


def test_a_digest_is_of_content_not_of_files(tmp_path: Path) -> None:
    write(tmp_path / "a", "main.jsonl", ONE, TWO)
    write(tmp_path / "b", "gw0.jsonl", TWO)
    write(tmp_path / "b", "gw1.jsonl", ONE, ONE)
    write(tmp_path / "c", "main.jsonl", ONE)
    digests = [archive_digest(tmp_path / name) for name in "abc"]
    assert digests[0] == digests[1] != digests[2]
    assert archive_digest(tmp_path / "none") is None
    write(tmp_path / "d", "main.jsonl", {"call": ["x"]}, {"result": 1})
    assert archive_digest(tmp_path / "d") is None
    write(tmp_path / "d", "more.jsonl", ONE)
    (tmp_path / "d" / "folder.jsonl").mkdir()
    (tmp_path / "d" / "link.jsonl").symlink_to(tmp_path / "a" / "main.jsonl")
    assert archive_digest(tmp_path / "d") == digests[2]


def test_links_that_lead_out(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "journal" / "sub").mkdir(parents=True)
    (run / "other").mkdir()
    (run / "inside").symlink_to(run / "journal")
    (run / "circle").symlink_to(run / "circle")
    assert [is_below(run, each) for each in (run / "inside", run, tmp_path, run / "a\0b")] == [True, True, False, False]
    for error in (OSError, RuntimeError):  # a circle, in one release of Python or another
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "resolve", lambda path, error=error: (_ for _ in ()).throw(error))
            assert not is_below(run, run / "circle")
    (run / "circle").unlink()
    refuse_links_out(run)
    refuse_links_out(tmp_path / "none")
    (run / "other" / "out").symlink_to(tmp_path)  # nothing of it is read
    refuse_links_out(run)
    for place in ("out", "journal/sub/out", *(f"{folder}/out" for folder in ("journal", "snapshots", "web", "rest"))):
        (run / place).parent.mkdir(exist_ok=True)
        (run / place).symlink_to(tmp_path)
        with pytest.raises(UsageError, match=r"leads out of .* \(a link, or a name with \.\.\)"):
            refuse_links_out(run)
        (run / place).unlink()
    assert below(run, run / "a") == run / "a"
    with pytest.raises(UsageError, match="leads out"):
        below(run, run / ".." / "a")


def test_files_are_written_whole_and_never_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_below(tmp_path, tmp_path / "a" / "b", b"long content")
    write_here(path, b"short")
    assert (path.read_bytes(), path.stat().st_mode & 0o111) == (b"short", 0)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(UsageError, match="is a link: it is not written through"):
        write_here(tmp_path / "link", b"x")
    with pytest.raises(UsageError, match="leads out"):
        write_below(tmp_path / "a", tmp_path / "c", b"x")
    with pytest.raises(OSError, match="No such file"):
        write_here(tmp_path / "none" / "x", b"x")
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:2]))
    write_here(path, b"12345")
    assert path.read_bytes() == b"12345"


def test_what_was_left_out_is_told_once_a_file() -> None:
    left_out, one, other, whole = LeftOut(), Path("a"), Path("b"), Path("c")
    for path, line in ((one, 7), (one, 3), (one, 7), (other, 1), (whole, 0), (whole, 0)):
        left_out(DamagedLine(path, line, f"why {line}"))
    assert (len(left_out), [each.line for each in left_out.lines]) == (4, [7, 3, 1, 0])
    assert list(left_out.sentences()) == [
        "2 damaged lines of a left out, the first: line 3: why 3", "1 damaged line of b left out: line 1: why 1",
        "c: why 0"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "listed"), [(1, "0"), (4, "0; 1; 2; 3"), (5, "0; 1; 2; and 2 more"), (9, "0; 1; 2; and 6 more")]
)
def test_gaps_are_listed_so_far(count: int, listed: str) -> None:
    error = IncompleteError(map(str, range(count)), allow="--anyway")
    assert error.message.startswith(f"the results are not complete: {listed}\n(run the entries again")
    assert error.message.endswith("with --anyway)")


def test_memories_of_repeats_and_damaged_ones(tmp_path: Path) -> None:
    assert [snapshots_of(tmp_path, "m", repeat).root.name for repeat in (1, 2)] == ["m", "m-r2"]
    snapshots = snapshots_of(tmp_path, "m")
    snapshots.save("kv", "s", "first", {"n": 1})
    snapshots.save("kv", "s", "second", {"n": 2})
    assert snapshots.load("kv", "s") == snapshots.load("kv", "s", "none") == {"n": 2}
    assert (snapshots.load("kv", "s", "first"), snapshots.load("kv", "other")) == ({"n": 1}, None)
    for text, why in (("{", "not JSON"), ("null", "holds null"), ("[" * 9000, "nested too deeply")):
        snapshots.final_path("kv", "s").write_text(text)
        (damaged,) = damaged_snapshots(tmp_path / "snapshots")
        assert damaged.why.startswith(f"damaged memory snapshot left out: {why}")
        assert damaged.line == 0
    snapshots.final_path("kv", "s").unlink()
    snapshots.final_path("kv", "s").symlink_to("nowhere")
    (damaged,) = damaged_snapshots(tmp_path / "snapshots")
    assert damaged.why == "damaged memory snapshot left out: No such file or directory"
    snapshots.final_path("kv", "s").unlink()
    snapshots.final_path("kv", "s").write_bytes(b"\xff")
    assert "not UTF-8" in next(iter(damaged_snapshots(tmp_path))).why
    long = "x" * 100
    assert snapshots.checkpoint_path("kv", long).name == f"{long}.json"
    assert len(snapshots.checkpoint_path("kv", long + "y").name) == 100 + 9 + 5
