from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path

import pytest

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs import EntryKey, TranscriptStore, transcripts
from pytest_bfcl.runs.transcripts import BEYOND, indexed
from tests.runs.samples import SPEC, conversation


def test_records_come_back_from_every_process(tmp_path: Path) -> None:
    _, transcript = conversation()
    first, second = TranscriptStore(tmp_path, "gw0"), TranscriptStore(tmp_path, "gw1")
    first.save(transcript)
    transcript.repeat = 2
    second.save(transcript)
    first.close()
    second.close()
    reader = TranscriptStore(tmp_path)
    assert set(reader.index()) == {EntryKey(SPEC, "fc", "multi_turn_base_7", n) for n in (1, 2)}
    assert all(record["messages"] == transcript.messages for _, record in reader.records())
    assert reader.load(EntryKey(SPEC, "fc", "other")) is None


def test_the_file_reads_as_ordinary_gzip(tmp_path: Path) -> None:
    store = TranscriptStore(tmp_path)
    for number in range(3):
        store.save_record(EntryKey(SPEC, "fc", f"e_{number}"), {"messages": [{"content": "é" * number}]})
    store.close()
    lines = gzip.decompress((tmp_path / "main.jsonl.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["e_0", "e_1", "e_2"]


def test_a_member_torn_by_a_crash_is_cut_off_before_going_on(tmp_path: Path) -> None:
    store = TranscriptStore(tmp_path)
    store.save_record(EntryKey(SPEC, "fc", "a"), {"messages": ["one"]})
    store.close()
    data = tmp_path / "main.jsonl.gz"
    data.write_bytes(data.read_bytes() + b"\x1f\x8b\x08torn")
    index = tmp_path / "main.index.jsonl"
    index.write_bytes(index.read_bytes() + b'{"id":"torn"')
    store = TranscriptStore(tmp_path)
    store.save_record(EntryKey(SPEC, "fc", "b"), {"messages": ["two"]})
    assert store.load(EntryKey(SPEC, "fc", "b")) is not None
    store.close()
    reader = TranscriptStore(tmp_path)
    assert [record["messages"] for _, record in reader.records()] == [["one"], ["two"]]
    assert gzip.decompress(data.read_bytes()).count(b"\n") == 2


def test_a_damaged_member_is_an_error_of_the_harness(tmp_path: Path) -> None:
    store, key = TranscriptStore(tmp_path), EntryKey(SPEC, "fc", "a")
    store.save_record(key, {"messages": [{"content": "words " * 50}]})
    store.close()
    data = tmp_path / "main.jsonl.gz"
    whole = data.read_bytes()
    other = zlib.compress(b'{"messages":[]}')
    for damaged in (whole[:-9], whole[:20] + b"\0" * (len(whole) - 20), whole[:-8] + b"\0" * 8, b"words", b"", other):
        data.write_bytes(damaged)
        with pytest.raises(HarnessError, match="cannot read the transcript of a"):
            TranscriptStore(tmp_path).load(key)


def test_indexes_tell_where_transcripts_lie(tmp_path: Path) -> None:
    store, keys = TranscriptStore(tmp_path), [EntryKey(SPEC, "fc", name, 2) for name in "ab"]
    for key in keys:
        store.save_record(key, {"messages": [key.entry_id]})
    known = store.index()
    store.save_record(keys[0], {"messages": ["again"]})
    assert [store.load(key)["messages"] for key in keys] == [["again"], ["b"]]  # type: ignore[index]
    assert known is store.index()
    store.close()
    store.close()
    assert [record["id"] for _, record in store.records()] == ["a", "b"]
    assert [record["repeat"] for _, record in TranscriptStore(tmp_path).records()] == [2, 2]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ({}, True), ({"repeat": 0, "offset": 0, "length": 0}, True), ({"model": 1}, False), ({"mode": None}, False),
        ({"id": []}, False),
        ({"repeat": True}, False), ({"offset": -1}, False), ({"length": 1.0}, False), ({"offset": 2**48}, False),
        ({"length": 2**48 - 1}, True),
    ],
)  # fmt: skip
def test_lines_of_an_index(line: dict[str, object], found: bool) -> None:
    whole = {"model": "m", "mode": "fc", "id": "a", "repeat": 1, "offset": 2, "length": 3} | line
    expected = (EntryKey("m", "fc", "a", whole["repeat"]), (whole["offset"], whole["length"])) if found else None  # type: ignore[arg-type]
    assert indexed(whole) == expected


def test_what_cannot_be_read_is_told_by_file(tmp_path: Path) -> None:
    store = TranscriptStore(tmp_path)
    for name in "abc":
        store.save_record(EntryKey(SPEC, "fc", name), {"messages": [name * 100]})
    store.close()
    data, index = tmp_path / "main.jsonl.gz", tmp_path / "main.index.jsonl"
    index.write_text(index.read_text() + "no json\n{}\n")
    whole = data.read_bytes()
    reader = TranscriptStore(tmp_path)
    assert len(reader.index()) == 3
    assert [str(each) for each in reader.damaged()] == [
        f"{index}:4: not JSON: Expecting value at column 1", f"{index}:5: no place of a transcript"
    ]  # fmt: skip
    data.write_bytes(whole[:-1])
    reader.find_cut()
    assert str(list(reader.damaged())[-1]) == f"{data}:0: 1 transcript cannot be read, the first of c: {BEYOND}"
    data.write_bytes(whole[:10])
    reader.find_cut()
    assert "3 transcripts cannot be read, the first of c" in str(list(reader.damaged())[-1])
    data.unlink()
    fresh = TranscriptStore(tmp_path)
    fresh.find_cut()
    assert "No such file" in str(list(fresh.damaged())[-1])
    with pytest.raises(HarnessError):
        list(fresh.records())


def test_an_index_that_leads_far_beyond_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, key = TranscriptStore(tmp_path), EntryKey(SPEC, "fc", "a")
    store.save_record(key, {"messages": ["x"]})
    store.close()
    index = tmp_path / "main.index.jsonl"
    line = json.loads(index.read_text())
    for length in (transcripts.LONGEST_ASKED + 1, 1 << 40):
        index.write_text(json.dumps(line | {"length": length}) + "\n")
        with pytest.raises(HarnessError, match=BEYOND):
            TranscriptStore(tmp_path).load(key)
    index.write_text(json.dumps(line) + "\n")
    monkeypatch.setattr(transcripts, "LONGEST_LINE", 5)
    with pytest.raises(HarnessError, match="cut off, or too large"):
        TranscriptStore(tmp_path).load(key)
