"""Lines of files that stay open: the same bytes as by opening each time, for threads, copies and many files."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path

import pytest

from pytest_bfcl.dataset.index import LineFiles, line_spans, read_line


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0


@pytest.fixture
def files(tmp_path: Path) -> list[tuple[Path, int, int]]:
    spans = []
    for number in range(10):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"".join(b'{"id": "%d-%d"}\n' % (number, line) for line in range(50)))
        spans += [(path, *span) for span in line_spans(path)]
    return spans


def test_few_files_stay_open_and_none_is_left_behind(files: list[tuple[Path, int, int]]) -> None:
    before = open_files()
    lines = LineFiles()
    for span in files:
        lines.read(*span)
    copies = [copy.deepcopy(lines), pickle.loads(pickle.dumps(lines))]
    assert [each.read(*files[3]) for each in copies] == [read_line(*files[3])] * 2
    assert open_files() <= before + LineFiles.MOST_OPEN + 2
    del lines, copies
    assert open_files() == before


def test_a_file_that_is_gone_is_an_error_and_a_short_one_gives_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "short.jsonl"
    path.write_bytes(b"0123456789")
    assert LineFiles().read(path, 4, 100) == b"456789"
    with pytest.raises(OSError, match="nothing"):
        LineFiles().read(tmp_path / "nothing", 0, 1)


def test_a_file_that_was_cut_gives_what_there_is_to_lines_in_order(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b"0123456789\n" * 3)
    lines = LineFiles()
    assert lines.read(path, 0, 11) == b"0123456789\n"
    path.write_bytes(b"0123456789\n01")
    assert lines.read(path, 11, 11) == b"01"
    assert lines.read(path, 22, 11) == b""
