from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path

import pytest

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs import EntryKey, TranscriptStore
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
