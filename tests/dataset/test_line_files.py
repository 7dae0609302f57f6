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
