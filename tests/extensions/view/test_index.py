"""The index says what reading the results says, whatever happens to the file; its cache is never believed blindly."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_bfcl.extensions.view.index import RunIndex, StaleIndexError, open_index
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.lines import DamagedLine, json_line
from tests.reporting.samples import record, stored_run

MODELS = ("openai:a@fc", "openai:b@prompt")
OUTCOMES = ("passed", "failed", "error", "skipped")


def lines(count: int, seed: int = 0) -> list[dict[str, object]]:
    """Lines of two models and two repeats, some of them twice."""
    dice = random.Random(seed)
    made = []
    for number in range(count):
        model = dice.choice(MODELS)
        line = record(f"simple_python_{dice.randrange(count // 2)}", "simple_python", model, dice.choice(OUTCOMES))
        made.append(
            {**line, "repeat": dice.choice((1, 2)), "latency_s": number / 7, "cost_usd": dice.choice((None, 0.5))}
        )
    return made


def seen(index: RunIndex) -> list[tuple[object, ...]]:
    return [
        (row.id, row.model, row.repeat, row.outcome, row.reason, row.latency_s, row.cost_usd) for row in index.rows()
    ]


def told(run: Path) -> list[tuple[object, ...]]:
    """The same, by reading everything."""
    found = RunDirectory.open(run).records()
    return [
        (line["id"], line["model"], line.get("repeat") or 1, line["outcome"], line.get("reason"),
         None if line.get("latency_s") is None else round(line["latency_s"], 3), line.get("cost_usd"))
        for line in found
    ]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = stored_run(tmp_path / "run", [record("simple_python_0", "simple_python", MODELS[0], "passed")])
    (made / "results.jsonl").write_bytes(b"".join(json_line(line) for line in lines(1200)))
    return made


def open_cached(run: Path, tmp_path: Path) -> RunIndex:
    return open_index(run / "results.jsonl", tmp_path / "cache")


def test_the_index_counts_what_reading_counts(run: Path, tmp_path: Path) -> None:
    fresh = open_cached(run, tmp_path)
    kept = open_cached(run, tmp_path)
    assert seen(fresh) == told(run)
    assert seen(kept) == told(run)
    assert [text for _, text in kept.listed()] == [text for _, text in fresh.listed()]
    for row in list(kept.rows())[::97]:
        assert kept.line(row)["id"] == row.id
        assert row in kept.of_entry(row.id)
    assert kept.of_entry("simple_python_none") == []


def test_damage_is_named_and_the_earlier_line_counts(run: Path, tmp_path: Path) -> None:
    path = run / "results.jsonl"
    good = json_line(record("simple_python_9", "simple_python", MODELS[0], "failed"))
    path.write_bytes(
        good + b"\n{broken\n" + good.replace(b'"failed"', b'"perhaps"') + b"\xff\n" + good[: len(good) // 2]
    )
    index = open_cached(run, tmp_path)
    assert [row.outcome for row in index.rows()] == ["failed"]
    assert [line.line for line in index.damaged] == [3, 4, 5]
    assert index.torn
    assert index.damaged == open_cached(run, tmp_path).damaged
    assert isinstance(index.damaged[0], DamagedLine)


def test_it_grows_with_the_file_however_it_is_cut(run: Path, tmp_path: Path) -> None:
    path = run / "results.jsonl"
    whole, dice = path.read_bytes(), random.Random(3)
    path.write_bytes(b"")
    index, taken = RunIndex(path), 0
    while taken < len(whole):
        part = whole[taken : taken + dice.randrange(1, 60_000)]
        with open(path, "ab") as file:
            file.write(part)
        taken += len(part)
        index.catch_up()
    assert seen(index) == told(run)
    assert not index.torn
    with open(path, "ab") as file:
        file.write(json_line(record("simple_python_new", "simple_python", MODELS[0], "passed")))
    assert len(open_cached(run, tmp_path)) == len(index) + 1
    assert index.catch_up()
    assert not index.catch_up()


def test_what_is_no_longer_the_same_file_is_read_anew(run: Path, tmp_path: Path) -> None:
    path = run / "results.jsonl"
    index = open_cached(run, tmp_path)
    row = next(iter(index.rows()))
    content = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(reversed(content)) + content[0])  # larger, but does not begin the same
    with pytest.raises(StaleIndexError):
        index.line(row)
    with pytest.raises(StaleIndexError):
        index.catch_up()
    assert seen(open_cached(run, tmp_path)) == told(run)
    path.write_bytes(b"".join(content[:5]))
    assert seen(open_cached(run, tmp_path)) == told(run)
    stamp = path.stat()
    path.write_bytes(b"".join(content[:5]).replace(b'"failed"', b'"passed"'))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    assert seen(open_cached(run, tmp_path)) == told(run)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: raw[: len(raw) // 2], id="cut"),
        pytest.param(lambda raw: b"{}" * 4000, id="other"),
        pytest.param(lambda raw: raw[:2000] + bytes(3000) + raw[5000:], id="zeros"),
        pytest.param(lambda raw: raw.replace(b"corrected_outcome", b"corrupted_outcome"), id="columns"),
        pytest.param(lambda raw: raw[:63] + b"\x09" + raw[64:], id="version"),
    ],
)
def test_a_damaged_cache_is_made_again(run: Path, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    open_cached(run, tmp_path)
    (cached,) = (tmp_path / "cache").iterdir()
    assert cached.stat().st_mode & 0o077 == 0
    cached.write_bytes(damage(cached.read_bytes()))
    with open(run / "results.jsonl", "ab") as file:
        file.write(json_line(record("simple_python_new", "simple_python", MODELS[0], "passed")))
    assert seen(open_cached(run, tmp_path)) == told(run)


def test_hostile_texts_and_an_unwritable_cache(run: Path, tmp_path: Path) -> None:
    odd = record("simple_python_0", "simple_python", MODELS[0], "passed")
    (run / "results.jsonl").write_bytes(json_line({**odd, "id": "a'; DROP TABLE lines", "reason": "\ud800"}))
    (tmp_path / "cache").write_text("no folder")
    index = open_cached(run, tmp_path)
    (row,) = index.rows()
    assert index.line(row)["reason"] == "\ud800"
    assert index.of_entry("a'; DROP TABLE lines") == [row]


def test_the_cache_is_never_in_the_run(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(tmp_path / "own"))
    before = sorted(run.rglob("*"))
    open_index(run / "results.jsonl")
    assert sorted(run.rglob("*")) == before
    assert len(list((tmp_path / "own" / "view").iterdir())) == 1


@pytest.mark.parametrize("indexed", [False, True])
def test_a_pipe_in_the_files_place_is_refused_at_once(run: Path, tmp_path: Path, indexed: bool) -> None:
    index = open_cached(run, tmp_path) if indexed else None
    row = next(iter(index.rows())) if index is not None else None
    (run / "results.jsonl").unlink()
    os.mkfifo(run / "results.jsonl")
    if index is not None and row is not None:
        with pytest.raises(StaleIndexError, match="was changed"):
            index.line(row)
    with pytest.raises(OSError, match="not a regular file"):
        open_cached(run, tmp_path)
