"""The recorded verdicts of the reference: verdict, error type and sub-error types of every recorded output."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.runs.replay_lines import entry_from_line, transcript_from_line

pytestmark = pytest.mark.golden


def read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            yield json.loads(line)


class Lookup:
    """Entries by id, parsed once."""

    def __init__(self, data: DataSet) -> None:
        self._data = data
        self._held: dict[str, Entry] = {}

    def __call__(self, entry_id: str) -> Entry:
        if entry_id not in self._held:
            self._held[entry_id] = self._data.entry(entry_id)
        return self._held[entry_id]


@pytest.fixture(scope="module")
def lookup(official: DataSet) -> Lookup:
    return Lookup(official)


def differences(lines: Iterable[dict[str, Any]], lookup: Lookup | None) -> tuple[int, list[str]]:
    """Number of lines, and a description of each whose verdict is another than the recorded one."""
    found: list[str] = []
    count = 0
    for line in lines:
        count += 1
        entry = entry_from_line(line)
        if entry is None:
            assert lookup is not None
            entry = lookup(line["id"])
        verdict = judge(entry, transcript_from_line({**line, "category": entry.category}))
        wanted = line["error_type"] or ""
        if line.get("reference_raises") or wanted.startswith("reference_crash"):
            same = verdict.outcome == "failed" and bool(verdict.reason)
        else:
            same = (verdict.valid, verdict.reason) == (line["valid"], line["error_type"])
            same &= list(verdict.detail.get("sub_error_types", [])) == line.get("sub_error_types", [])
        if not same:
            found.append(f"{line['id']}: {line['valid']} {wanted}, here {verdict.valid} {verdict.reason}")
    return count, found


def test_examples(golden_dir: Path) -> None:
    lines = list(read(golden_dir.parent / "spec" / "ast_examples.jsonl"))
    for line in lines:
        if line["id"] == "ast_021":  # executes code in the reference; a typed failure here
            line.update(valid=False, error_type="ast_decoder:decoder_failed")
    assert differences(lines, None) == (220, [])


@pytest.mark.parametrize(("name", "size"), [("ast_fuzz", 6000), ("sql_outputs", 1800)])
def test_outputs(name: str, size: int, golden_dir: Path, lookup: Lookup) -> None:
    assert differences(read(golden_dir / f"{name}.jsonl.gz"), lookup) == (size, [])


def test_real_outputs(golden_dir: Path, lookup: Lookup) -> None:
    files = sorted((golden_dir / "real_outputs").glob("*.jsonl.gz"))
    assert len(files) >= 13
    for path in files:
        count, found = differences(read(path), lookup)
        assert (count, [text.partition(":")[0] for text in found]) == (1385, FAILED_REQUESTS.get(path.name, [])), found


FAILED_REQUESTS = {"firefunction-v2-FC.jsonl.gz": ["simple_javascript_6", "parallel_114"]}
"""Recorded "error during inference" lines: wrong answers for the reference, provider trouble here."""


def test_multi_turn_mutations(golden_dir: Path, lookup: Lookup) -> None:
    lines = list(read(golden_dir / "multi_turn_mutations.jsonl"))
    wrong: list[str] = []
    for line in lines:
        record = transcript_from_line({key: line[key] for key in ("id", "category", "trajectory")})
        verdict = judge(lookup(line["id"]), record)
        turn = verdict.detail.get("turn")
        if (verdict.valid, verdict.reason, turn) != (line["valid"], line["error_type"], line["failed_turn"]):
            wrong.append(f"{line['id']} {line['mutation']}: {verdict}")
    assert (len(lines), wrong) == (1200, [])
