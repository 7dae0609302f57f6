"""Transcripts of runs that earlier releases made: still read."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs import EntryKey, Transcripts, packed_transcripts
from pytest_bfcl.runs.packed_transcripts import BEYOND, indexed
from tests.runs.samples import SPEC, pack_transcripts

KEY = EntryKey(SPEC, "fc", "a")


def test_packed_transcripts_come_back_from_every_process(tmp_path: Path) -> None:
    for number in (1, 2):
        pack_transcripts(
            tmp_path / "transcripts", f"gw{number}", [{"id": "a", "repeat": number, "messages": [{}] * number}]
        )
    run = Transcripts(tmp_path)
    assert [len(run.load(KEY._replace(repeat=number))["messages"]) for number in (1, 2)] == [1, 2]  # type: ignore[index]
    assert run.load(KEY._replace(entry_id="other")) is None
    assert not list(run.damaged())


def test_a_damaged_member_is_an_error_of_the_harness(tmp_path: Path) -> None:
    data, _ = pack_transcripts(tmp_path / "transcripts", "main", [{"id": "a", "messages": ["words " * 50]}])
    whole = data.read_bytes()
    other = zlib.compress(b'{"messages":[]}')
    for damaged in (whole[:-9], whole[:20] + b"\0" * (len(whole) - 20), whole[:-8] + b"\0" * 8, b"words", b"", other):
        data.write_bytes(damaged)
        run = Transcripts(tmp_path)
        with pytest.raises(HarnessError, match="cannot read the transcript of a"):
            run.load(KEY)
        assert f"{data}:0: 1 transcript cannot be read, the first of a: " in str(*run.damaged())


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ({}, True), ({"repeat": 0, "offset": 0, "length": 0}, True), ({"model": 1}, False), ({"mode": None}, False),
        ({"id": []}, False), ({"repeat": True}, False), ({"offset": -1}, False), ({"length": 1.0}, False),
        ({"offset": 2**48}, False), ({"length": 2**48 - 1}, True),
    ],
)  # fmt: skip
def test_lines_of_an_index(line: dict[str, object], found: bool) -> None:
    whole = {"model": "m", "mode": "fc", "id": "a", "repeat": 1, "offset": 2, "length": 3} | line
    expected = (EntryKey("m", "fc", "a", whole["repeat"]), (whole["offset"], whole["length"])) if found else None  # type: ignore[arg-type]
    assert indexed(whole) == expected


def test_what_cannot_be_read_is_told_by_file(tmp_path: Path) -> None:
    data, index = pack_transcripts(
        tmp_path / "transcripts", "main", [{"id": name, "messages": [name]} for name in "abc"]
    )
    index.write_text(index.read_text() + "no json\n{}\n")
    whole = data.read_bytes()
    run = Transcripts(tmp_path)
    run.find_damage()
    assert [str(each) for each in run.damaged()] == [
        f"{index}:4: not JSON: Expecting value at column 1", f"{index}:5: no place of a transcript"
    ]  # fmt: skip
    for cut, said in (
        (whole[:-1], "1 transcript cannot be read, the first of c"),
        (whole[:10], "3 transcripts cannot"),
    ):
        data.write_bytes(cut)
        run.find_damage()
        assert said in str(list(run.damaged())[-1])
    data.unlink()
    fresh = Transcripts(tmp_path)
    fresh.find_damage()
    assert "No such file" in str(list(fresh.damaged())[-1])


def test_an_index_that_leads_far_beyond_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, index = pack_transcripts(tmp_path / "transcripts", "main", [{"id": "a", "messages": ["x"]}])
    line = json.loads(index.read_text())
    for length in (packed_transcripts.LONGEST_ASKED + 1, 1 << 40):
        index.write_text(json.dumps(line | {"length": length}) + "\n")
        with pytest.raises(HarnessError, match=BEYOND):
            Transcripts(tmp_path).load(KEY)
    index.write_text(json.dumps(line) + "\n")
    monkeypatch.setattr(packed_transcripts, "LONGEST_LINE", 5)
    with pytest.raises(HarnessError, match="cut off, or too large"):
        Transcripts(tmp_path).load(KEY)
