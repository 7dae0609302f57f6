from __future__ import annotations

import gzip
import json
import resource
from pathlib import Path

import pytest

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs.lines import (
    DamagedLine,
    LineAppender,
    json_line,
    parse_object,
    read_json_lines,
    write_atomically,
)


def strict(raw: bytes) -> object:
    def refuse(name: str) -> None:
        raise AssertionError(f"not strict JSON: {name}")

    assert raw.endswith(b"\n")
    assert raw.count(b"\n") == 1
    return json.loads(raw.decode(), parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("é ☃", "é ☃"),
        (float("nan"), "nan"),
        ([float("-inf"), 1.5], ["-inf", 1.5]),
        ({1: {2: "x"}}, {"1": {"2": "x"}}),
        ((1, (2,)), [1, [2]]),
        (b"x", "b'x'"),
        (complex(1, 2), "(1+2j)"),
        pytest.param(10**5000, "<integer of 16610 bits>", id="long-integer"),
        ("line\nbreak\u2028", "line\nbreak\u2028"),
    ],
)
def test_anything_decoded_becomes_strict_json(value: object, expected: object) -> None:
    assert strict(json_line({"v": value})) == {"v": expected}


def test_lone_surrogates_survive() -> None:
    assert json.loads(json_line({"v": "a\ud800"})) == {"v": "a\ud800"}


def test_deep_nesting_is_cut() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert b"nested too deeply" in json_line({"v": value})


def test_append_returns_where_the_line_lies(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.jsonl"
    appender = LineAppender(path)
    places = [appender.append({"n": n, "t": "é" * n}) for n in range(5)]
    appender.close()
    appender.close()
    data = path.read_bytes()
    assert [json.loads(data[o : o + n])["n"] for o, n in places] == [0, 1, 2, 3, 4]


def test_a_torn_last_line_is_closed_off_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"n":1}\n{"n":2,"text":"cut o')
    appender = LineAppender(path)
    appender.append({"n": 3})
    appender.close()
    damaged: list[DamagedLine] = []
    assert [line.value["n"] for line in read_json_lines(path, damaged.append)] == [1, 3]
    assert [(d.path, d.line) for d in damaged] == [(path, 2)]
    assert "not JSON" in str(damaged[0])


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


def test_reading_reports_every_kind_of_damage(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    deep = b"[" * 100_000 + b"]" * 100_000
    path.write_bytes(b'\xef\xbb\xbf{"n":1}\r\n\n[1]\n\xff\xfe\n{"v":' + deep + b'}\n{"n":2}')
    damaged: list[DamagedLine] = []
    assert [line.value for line in read_json_lines(path, damaged.append)] == [{"n": 1}, {"n": 2}]
    assert [(d.line, d.why) for d in damaged] == [
        (3, "not a JSON object"),
        (4, "not UTF-8"),
        (5, "nested too deeply"),
    ]


def test_a_cut_off_gzip_file_gives_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl.gz"
    whole = gzip.compress(b"".join(json_line({"n": n, "t": str(n) * 50}) for n in range(2000)))
    path.write_bytes(whole[: len(whole) // 2])
    damaged: list[DamagedLine] = []
    lines = list(read_json_lines(path, damaged.append))
    assert lines == [] or lines[0].value["n"] == 0
    assert "compressed data is broken" in damaged[-1].why


def test_atomic_writing_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "x.json"
    write_atomically(path, "one")
    write_atomically(path, b"two")
    assert path.read_text() == "two"
    assert [child.name for child in path.parent.iterdir()] == ["x.json"]
    with pytest.raises(HarnessError):
        write_atomically(path / "below" / "file", "three")


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "-0",
        "-0.0",
        "1e999",
        "12345678901234567890123",
        "0.1e-7",
        '"\\ud800"',
        '"\\ud83d\\ude00"',
        '"\x7f"',
        "[" * 300 + "]" * 300,
    ],
)
def test_both_parsers_read_the_same(text: str) -> None:
    line = f'{{"a": 1, "a": {text}}}\n'.encode()
    for raw in (line, b"\xef\xbb\xbf" + line):
        assert repr(parse_object(raw)) == repr(json.loads(line))
