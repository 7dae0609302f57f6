from __future__ import annotations

import errno
import gzip
import io
import json
import os
import resource
from contextlib import nullcontext
from pathlib import Path

import pytest

from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.runs import lines
from pytest_bfcl.runs.lines import (
    DamagedLine,
    LineAppender,
    json_line,
    json_line_of_parsed,
    parse_object,
    plain,
    read_json_lines,
    staged,
    whole_lines,
    write_atomically,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("é ☃", "é ☃"), ("line\nbreak\u2028", "line\nbreak\u2028"), (True, True), (None, None), (1.5, 1.5),
        (float("nan"), "nan"), ([float("-inf"), 1.5], ["-inf", 1.5]), ({1: {2: "x"}}, {"1": {"2": "x"}}),
        ({None: {True: 1.5}}, {"null": {"true": 1.5}}), ({None: {1.5}}, {"null": "{1.5}"}),
        ((1, (2,)), [1, [2]]), ({1}, "{1}"),
        (b"x", "b'x'"), (complex(1, 2), "(1+2j)"), pytest.param(10**5000, "<integer of 16610 bits>", id="long-integer"),
    ],
)  # fmt: skip
def test_anything_decoded_becomes_strict_json(value: object, expected: object) -> None:
    raw = json_line({"v": value})
    assert (raw.endswith(b"\n"), raw.count(b"\n")) == (True, 1)
    assert json.loads(raw.decode(), parse_constant=pytest.fail) == {"v": expected}
    assert plain(value) == expected


def test_copies_have_keys_depth_and_numbers_that_can_be_written() -> None:
    assert plain({None: 1, "a": {True: ()}}) == {"null": 1, "a": {"true": []}}  # as json.dumps writes them
    assert (plain(2**9_999), plain(2**10_000)) == (2**9_999, "<integer of 10001 bits>")
    deep: object = "end"
    for _ in range(201):
        deep = [deep]
    assert plain(deep) == deep
    assert "<nested too deeply>" in str(plain([deep]))


def test_a_write_that_fits_only_partly_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    appender = LineAppender(path)
    appender.append({"n": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (appender.size + 100, hard))
    try:
        with pytest.raises(HarnessError) as caught:
            appender.append({"n": 2, "text": "x" * 1000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.kind == "storage"
    assert str(path) in caught.value.message
    assert path.read_bytes() == b'{"n":1}\n'
    appender.append({"n": 3})
    appender.close()
    assert [line.value["n"] for line in read_json_lines(path)] == [1, 3]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_says_so() -> None:
    appender = LineAppender(Path("/dev/full"))
    with pytest.raises(HarnessError, match=r"the disk is full: cannot write to /dev/full .*--bfcl-out"):
        appender.append({"n": 1})


def test_atomic_writing_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "sub" / "x.json", list[int]()
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size))
    write_atomically(path, "one")
    assert synced == [3], "all of it was on its way to the disk"
    write_atomically(path, b"two")
    assert path.read_text() == "two"
    assert [child.name for child in path.parent.iterdir()] == ["x.json"]
    with pytest.raises(HarnessError):
        write_atomically(path / "below" / "file", "three")


@pytest.mark.parametrize(
    "text",
    [
        *("NaN", "-0", "-0.0", "1e999", "12345678901234567890123", "0.1e-7"),
        *('"\\ud800"', '"\\ud83d\\ude00"', '"\x7f"', "[" * 300 + "]" * 300),
    ],
)
def test_both_parsers_read_the_same(text: str) -> None:
    line = f'{{"a": 1, "a": {text}}}\n'.encode()
    for raw in (line, b"\xef\xbb\xbf" + line):
        assert repr(parse_object(raw)) == repr(json.loads(line))


def test_lines_of_parsed_values_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ({"a": "é"}, {"a": "NaN"}, {"a": "Infinity"}, {"a": float("nan")}, {"a": "\ud800"}, [{"a": 1.5}]):
        assert json.loads(json_line_of_parsed(value)) == json.loads(json_line(value))
        assert json_line_of_parsed(value).endswith(b"}\n" if isinstance(value, dict) else b"}]\n")
    assert json.loads(json_line_of_parsed({"a": float("inf")})) == {"a": "inf"}
    assert json_line_of_parsed({"a": "é"}) == json_line({"a": "é"}) == '{"a":"é"}\n'.encode()
    monkeypatch.setattr(lines, "json_line", pytest.fail)  # the slower one
    assert json_line_of_parsed({"a": "Inf"}) == b'{"a":"Inf"}\n'


@pytest.mark.parametrize("there", [b"abc", b"abc\n"])
def test_an_appender_ends_a_torn_line_counts_and_closes(
    tmp_path: Path, there: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(there)
    appender = LineAppender(path)
    assert (appender.size, appender.append_bytes(b"xyz\n"), appender.size) == (4, (4, 4), 8)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    appender.close()
    appender.close()
    assert len(synced) == 1
    assert path.read_bytes() == b"abc\nxyz\n"
    with pytest.raises(HarnessError, match="is closed"):
        appender.append({})
    with pytest.raises(HarnessError, match=r"cannot write to .*\(check the folder's permissions"):
        LineAppender(tmp_path)


def test_a_disk_that_takes_a_part_is_written_to_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    appender, write = LineAppender(tmp_path / "a"), os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:3]))
    assert appender.append_bytes(b"12345678\n") == (0, 9)
    assert (tmp_path / "a").read_bytes() == b"12345678\n"

    def broken(fd: int) -> None:
        raise OSError(errno.EIO, "bad disk")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(HarnessError, match="bad disk"):
        appender.close()
    appender.close()  # it is closed all the same
    with pytest.raises(HarnessError, match="bad disk"):
        write_atomically(tmp_path / "b", "x")
    assert [child.name for child in tmp_path.iterdir()] == ["a"]


def test_where_lines_lie(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1}\n\n  \nno\n{"b":2}')
    damaged: list[DamagedLine] = []
    assert list(read_json_lines(path, damaged.append)) == [(1, 0, 8, {"a": 1}), (5, 15, 7, {"b": 2})]
    assert [str(each) for each in damaged] == [f"{path}:4: not JSON: Expecting value at column 1"]
    assert len(list(read_json_lines(path))) == 2
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes())[:-6])
    damaged.clear()
    assert [line.number for line in read_json_lines(packed, damaged.append)] == [1]
    assert [each.line for each in damaged] == [4, 5]
    assert len(list(read_json_lines(packed))) == 1
    with pytest.raises(OSError, match="not a regular file"):
        list(read_json_lines(tmp_path))


@pytest.mark.parametrize(("line", "refused"), [(b"1234567\n", False), (b"12345678\n", True), (b"1234567", False)])
def test_no_line_is_longer_than_any_of_a_run(monkeypatch: pytest.MonkeyPatch, line: bytes, refused: bool) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 8)
    with pytest.raises(UsageError, match="the file has a line of more than") if refused else nullcontext():
        assert list(whole_lines(io.BytesIO(line))) == [line]


@pytest.mark.parametrize(
    ("raw", "why"),
    [(b'{"a"', "not JSON: Expecting ':' delimiter at column 5 (the line is cut off)"),
     (b"[1]\n", "not a JSON object"), (b"1" * 5000 + b"\n", "a number of too many digits"),
     (b'{"a": "\\ud800", "b": ' + b"[" * 401 + b"]" * 401 + b"}\n", "nested too deeply"),
     (b'{"a": "\\ud800", "b": ' + b"[" * 400 + b"]" * 400 + b"}\n", "")],
)  # fmt: skip
def test_why_a_line_is_no_object(raw: bytes, why: str) -> None:
    with pytest.raises(ValueError) if why else nullcontext() as caught:
        parse_object(raw)
    assert why == (str(caught.value) if caught else "")


@pytest.mark.parametrize("existing", [False, True])
def test_a_full_disk_names_the_file_and_leaves_no_half(tmp_path: Path, existing: bool) -> None:
    target = tmp_path / "out"
    if existing:
        target.mkdir()
        (target / "a.txt").write_text("old")
    with pytest.raises(UsageError, match=r"disk is full: cannot write \S+/out/deep/b.txt"), staged(target) as place:
        (place / "deep").mkdir(parents=True)
        (place / "a.txt").write_text("new")
        os.utime(place / "a.txt", (1, 1))
        (place / "deep" / "b.txt").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert [path.name for path in tmp_path.rglob("*")] == (["out", "a.txt"] if existing else [])
    for number, error in ((errno.ENOSPC, r"cannot write \S+/one.txt;"), (errno.EIO, "the device's own words")):
        with pytest.raises((UsageError, OSError), match=error), staged(tmp_path / "one.txt") as place:
            place.write_text("half")
            raise OSError(number, "the device's own words")
    assert [path.name for path in tmp_path.iterdir()] == (["out"] if existing else [])
    for folder in (target, tmp_path / "below" / "another"):
        with staged(folder) as place:
            place.mkdir()
            (place / "a.txt").write_text("new")
        assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("a.txt", "new")]
