"""Pages written while a run goes on: byte for byte what the end would write, and written again where it must be."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset import DataSet
from pytest_bfcl.reporting import ahead as ahead_module
from pytest_bfcl.reporting import write_report
from pytest_bfcl.reporting.ahead import PagesAhead
from pytest_bfcl.reporting.sources import questions
from pytest_bfcl.runs import RunDirectory, TranscriptStore
from tests.reporting.samples import booking, make_run, record, stored_run, write_data

OUTCOMES = ("passed", "failed", "passed", "error", "passed", "failed", "skipped")


def pages_of(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / "entries").iterdir()}


def written_ahead(run: Path, records: Iterable[dict[str, Any]], data: DataSet | None, models: int = 1) -> PagesAhead:
    """The pages of these records, written as a run would that has just kept them."""
    opened = RunDirectory.open(run)
    assert len(opened.fingerprint.models) == models
    ahead = PagesAhead(
        opened, questions(data, opened.fingerprint.to_dict()["dataset"]), TranscriptStore(run / "transcripts")
    )
    for each in records:
        ahead.add(each, json.dumps(each))
        while ahead.work():
            pass
    return ahead


def rewritten(run: Path, data: DataSet | None, ahead: PagesAhead | None) -> tuple[set[str], dict[str, bytes], bytes]:
    """The pages the end wrote (again), all pages and the index."""
    before = {path.name: path.stat().st_mtime_ns for path in (run / "entries").glob("*")}
    index = write_report(run, entry_source=data, ahead=ahead)
    after = {path.name: path.stat().st_mtime_ns for path in (run / "entries").glob("*")}
    return {name for name, when in after.items() if before.get(name) != when}, pages_of(run), index.read_bytes()


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def test_pages_ahead_are_those_of_the_end(tmp_path: Path) -> None:
    data = write_data(tmp_path / "bench")
    run = make_run(tmp_path / "run", data, {"simple_python_1": booking(film="Heat", seats=3)})
    ahead = written_ahead(run, lines(run), data)
    at_end, pages, index = rewritten(run, data, ahead)
    outcomes = {each["outcome"] for each in lines(run)}
    assert len(at_end) == len(outcomes), "only the last page of each outcome lacks its links before"
    assert len(pages) == 6
    _, again, index_again = rewritten(run, data, None)
    assert pages == again
    assert index == index_again


def test_an_entry_that_ran_again_and_names_that_changed(tmp_path: Path) -> None:
    records = [
        record(f"simple_python_{number}", "simple_python", "openai:a@fc", OUTCOMES[number % len(OUTCOMES)])
        for number in range(20)
    ]
    again = [records[3] | {"outcome": "passed"}, records[10] | {"latency_s": 9.0}]
    run = stored_run(tmp_path / "run", [*records, *again])
    ahead = written_ahead(run, [*records[:12], *again, *records[12:]], None)
    at_end, pages, index = rewritten(run, None, ahead)
    assert "simple_python_10.html" in at_end
    assert 3 < len(at_end) < 12
    _, plain, plain_index = rewritten(run, None, None)
    assert pages == plain
    assert index == plain_index

    renamed = [each | {"model": "openai:b@fc"} for each in records[:15]] + records[15:]
    run = stored_run(tmp_path / "renamed", records[15:])
    (run / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in renamed))
    ahead = written_ahead(run, [*records[15:], *renamed[:15]], None)
    _, pages, _ = rewritten(run, None, ahead)
    assert pages == rewritten(run, None, None)[1]
    assert all(
        name.count("openai") == (number >= 15) for number in range(20) for name in pages if f"_{number}." in name
    )


def test_several_models_share_a_folder(tmp_path: Path) -> None:
    records = [
        record(f"simple_python_{number}", "simple_python", model, OUTCOMES[number % len(OUTCOMES)])
        for number in range(9)
        for model in ("openai:a@fc", "openai:b@prompt")
    ]
    run = stored_run(tmp_path / "run", records)
    at_end, pages, _ = rewritten(run, None, written_ahead(run, records, None, models=2))
    assert len(pages) == 18
    assert len(at_end) == len({each["outcome"] for each in records})
    assert pages == rewritten(run, None, None)[1]


def test_a_run_without_time_to_spare_holds_few_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead_module, "MOST_HELD", 5)
    records = [record(f"simple_python_{number}", "simple_python", "openai:a@fc") for number in range(20)]
    run = stored_run(tmp_path / "run", records)
    opened = RunDirectory.open(run)
    ahead = PagesAhead(opened, questions(None, opened.fingerprint.to_dict()["dataset"]), opened.transcripts)
    for each in records:
        ahead.add(each, json.dumps(each))
    while ahead.work():
        pass
    assert len(pages_of(run)) == 5
    at_end, pages, _ = rewritten(run, None, ahead)
    assert len(at_end) == 15
    assert pages == rewritten(run, None, None)[1]


def test_a_list_without_pages(tmp_path: Path) -> None:
    data = write_data(tmp_path / "bench")
    run = make_run(tmp_path / "run", data, {})
    index = write_report(run, entry_source=data, level="index").read_text(encoding="utf-8")
    assert not (run / "entries").exists()
    assert '"pages":false' in index
    assert "Two seats for Heat" in index
    assert "have no pages of their own" in index
    assert '"pages":true' in write_report(run, entry_source=data).read_text(encoding="utf-8")
