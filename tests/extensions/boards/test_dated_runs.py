"""Scores over dated runs: bands, labels, changed data, gaps, repeats, models, damaged folders, hostile names."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.boards.dated_runs import (
    Histories,
    HistoryLine,
    histories_html,
    read_histories,
)
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import ModelFingerprint
from pytest_bfcl.scoring.summary import summarise
from tests.runs.samples import SPEC, fingerprint
from tests.scoring.samples import lines


def night(folder: Path, day: int, counts: dict[str, tuple[int, int]], *, model: str = SPEC, **facts: Any) -> Path:
    """A finished run of that day."""
    path = folder / facts.pop("name", f"night-{day:02}")
    repeats = facts.pop("repeats", 1)
    known = {"started_at": f"2026-03-{day:02}T02:00:00Z", "models": (ModelFingerprint(model, "fc"),)}
    with RunDirectory.create(path, fingerprint(**known | facts)) as run:
        for repeat in range(1, repeats + 1):
            for record in lines(counts, model=model, repeat=repeat):
                run.append(record)  # type: ignore[arg-type]
        run.write_summary(summarise(run.records(), fingerprint=run.fingerprint.to_dict()))
        run.state("finished")
    return path


def lines_of(found: Histories, model: str = SPEC) -> list[HistoryLine]:
    return found.models[model][1]


PLAIN = {"parallel": (40, 50), "multiple": (30, 50)}
WORSE = {"parallel": (15, 50), "multiple": (31, 50)}


def test_the_verb_writes_page_table_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights, out = tmp_path / "nights", tmp_path / "out"
    for day, label in ((1, "v1"), (2, '=1+1\n"x"'), (3, "<script>alert(1)")):
        night(nights, day, PLAIN if day < 3 else WORSE, name=label)
    assert main(["leaderboard", str(nights), "--history", "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "3 runs, 2026-03-01 (v1) to 2026-03-03" in shown
    (row,) = [line.split() for line in shown.splitlines() if line.split()[:1] == ["parallel"]]
    assert row[:6] == ["parallel", "80.0", "%", "80.0", "%", "30.0"]
    assert "-50.0 !" in shown
    with (out / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["label"] for row in rows} >= {"v1", '\'=1+1 "x"'}
    points = [row for row in rows if row["name"] == "parallel"]
    assert [float(row["value"]) for row in points] == [0.8, 0.8, 0.3]
    assert [row["judged"] for row in points] == ["50"] * 3
    page = (out / "history.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert page.count("<polyline") == page.count("<polygon") >= 3
    assert main(["leaderboard", str(nights), "--history", "--official", "-o", str(out)]) == 2


def test_changed_data_ends_a_line_and_is_said(tmp_path: Path) -> None:
    paths = [night(tmp_path, 1, PLAIN), night(tmp_path, 2, PLAIN)]
    paths += [night(tmp_path, day, PLAIN, dataset_sha256="cd" * 32, dataset_version="2027.1.1") for day in (3, 4)]
    found = read_histories(paths)
    assert [run.test for run in found.models[SPEC][0]] == [0, 0, 1, 1]
    line = lines_of(found)[0]
    assert [point.joined for point in line.points] == [False, True, False, True]
    (note,) = found.notes
    assert note.startswith(
        "night-03 and the run before it: not comparable because of data version: 2026.3.23 → 2027.1.1"
    )
    later = read_histories([*paths, night(tmp_path, 5, WORSE, dataset_sha256="cd" * 32, dataset_version="2027.1.1")])
    parallel = next(line for line in lines_of(later) if line.name == "parallel")
    assert parallel.change == pytest.approx(-0.5)  # against the first of its own test
    assert histories_html(found).count("<polyline") == 2 * len(lines_of(found))


def test_repeats_do_not_narrow_a_band(tmp_path: Path) -> None:
    once, thrice = (
        lines_of(read_histories([night(tmp_path / name, 1, PLAIN, repeats=repeats)]))[-1].points[0].interval
        for name, repeats in (("once", 1), ("thrice", 3))
    )
    assert once == pytest.approx(thrice)


def test_damaged_and_unfinished_runs_are_named_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = tmp_path / "nights"
    for day in range(1, 6):
        night(nights, day, PLAIN)
    (nights / "night-02" / "run.json").write_text("{broken")
    (nights / "night-03" / "summary.json").write_text("{broken")  # made again from the lines
    (nights / "night-04" / "summary.json").unlink()
    (nights / "night-04" / "results.jsonl").write_text("")
    stopped = json.loads((nights / "night-05" / "run.json").read_text())
    (nights / "night-05" / "run.json").write_text(json.dumps({**stopped, "state": "stopped:budget"}))
    assert main(["leaderboard", str(nights), "--history", "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "2 runs" in shown
    for name, why in (("02", "damaged"), ("04", "gaps"), ("05", "not finished (stopped:budget)")):
        assert any(f"night-{name}" in line and why in line for line in shown.replace("\n", " ").split("note:")), name
    found = read_histories([nights / "night-01", nights / "night-05"], allow_missing=True)
    assert len(found.runs) == 2
    with pytest.raises(Exception, match="no run can be part of a history"):
        read_histories([nights / "night-02"])
