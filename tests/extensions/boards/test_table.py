"""Runs as flat tables, read by polars: conversations, repeats, several runs, continued ones, hostile and odd lines."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.boards.flat_table import COLUMNS, NAMES, rows_of, write_table
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings
from tests.reporting.samples import booking, make_run, record, write_data
from tests.runs.samples import SPEC, fingerprint

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A bundled run of conversations and single calls, and one of own entries with repeats."""
    folder = tmp_path_factory.mktemp("tables")
    run("bundled", "oracle:", categories=["simple_python", "multi_turn_base", "irrelevance"], out=folder / "bundled")
    data = write_data(folder / "own")
    make_run(folder / "first", data, {"simple_python_1": booking(film="Heat", seats=3)})
    run(data, "lexical:@prompt", out=folder / "second", settings=Settings(repeat=2))
    return folder / "bundled", folder / "second"


def table(tmp_path: Path, *arguments: object, suffix: str = "parquet") -> polars.DataFrame:
    path = tmp_path / f"table.{suffix}"
    assert main(["export", *map(str, arguments), "--table", str(path)]) == 0
    return polars.read_parquet(path) if suffix == "parquet" else polars.read_csv(path, infer_schema_length=None)


def test_a_row_an_entry_and_request(tmp_path: Path, runs: tuple[Path, Path]) -> None:
    bundled, _ = runs
    found = table(tmp_path, bundled)
    assert found.columns == list(NAMES)
    lines = [json.loads(text) for text in (bundled / "results.jsonl").read_text().splitlines()]
    replies = sum(sum(map(len, x["output"])) if x["category"] == "multi_turn_base" else 1 for x in lines)
    assert found.height == replies > len(lines)
    entries = found.filter(polars.col("request") == 1)
    assert sorted(entries["id"]) == sorted(line["id"] for line in lines)
    turns = found.filter(polars.col("category") == "multi_turn_base")
    (entry,) = turns.filter(polars.col("id") == "multi_turn_base_0")["requests"].unique()
    assert turns.filter(polars.col("id") == "multi_turn_base_0").height == entry
    first = turns.row(0, named=True)
    assert (first["turn"], first["step"], first["request"], first["call_count"] >= 1) == (1, 1, 1, True)
    assert json.loads(first["tool_results"])
    assert found.filter(polars.col("entry_duration_s").is_not_null()).height == len(lines)
    assert set(found["outcome"]) == {"passed"}
    assert set(found["data"]) == {"bundled"}


def test_several_runs_and_repeats_stand_in_one_table_in_both_formats(tmp_path: Path, runs: tuple[Path, Path]) -> None:
    parquet = table(tmp_path, *runs)
    flat = table(tmp_path, *runs, suffix="csv")
    assert (flat.columns, flat.height) == (parquet.columns, parquet.height)
    for name in ("run", "id", "outcome", "request"):
        assert flat[name].to_list() == parquet[name].to_list()
    second = parquet.filter(polars.col("run") == str(runs[1]))
    assert set(second["repeat"]) == {1, 2}
    assert set(second["mode"]) == {"prompt"}
    passed = second.filter(polars.col("request") == 1).group_by("repeat").agg(polars.len())
    assert set(passed["len"]) == {6}


def test_of_a_continued_run_the_last_line_counts_and_damage_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [record(f"simple_python_{n}", "simple_python", SPEC) for n in range(3)]
    with RunDirectory.create(tmp_path / "run", fingerprint()) as saved:
        for line in [{**lines[0], "outcome": "error", "output": None, "calls": None}, *lines]:
            saved.append(line)  # type: ignore[arg-type]
        saved.state("finished")
    found = table(tmp_path, tmp_path / "run")
    assert found["outcome"].to_list() == ["passed"] * 3
    with (tmp_path / "run" / "results.jsonl").open("a") as file:
        file.write("{broken\n")
    assert main(["export", str(tmp_path / "run"), "--table", str(tmp_path / "t.csv")]) == 1
    assert "results.jsonl" in capsys.readouterr().err


def test_hostile_texts_and_odd_numbers_are_cells(tmp_path: Path) -> None:
    hostile = '=HYPERLINK("http://x")\nnext\r\n"row",\x00\ud800' + "y" * 40_000
    lines: list[dict[str, Any]] = [
        record("simple_python_0", "simple_python", SPEC, output=hostile, calls=None, reasoning="+1", latency_s=10**400,
               input_tokens=10**30, output_tokens=True, cost_usd="much", detail={"turn": 10**40}),
        record("=cmd()", "simple_python", SPEC, "error", output=None, calls=None),
        record("multi_turn_base_0", "multi_turn_base", SPEC,
               output=[["a", [{"name": "f", "arguments": "{}"}]], []],
               calls=[[None, [{"f": {}}]], []], latency_s=[[0.5, 0.25], []], tool_results=[[[], ["ok"]], []]),
        record("parallel_1", "parallel", SPEC, output={"odd": 1}, calls=7, latency_s="x", detail=["odd"]),
    ]  # fmt: skip
    rows = list(rows_of("run", lines))
    assert [row["id"] for row in rows].count("multi_turn_base_0") == 2
    assert [row.get("latency_s") for row in rows if row["id"] == "multi_turn_base_0"] == [0.5, 0.25]
    assert write_table(tmp_path / "t.csv", rows) == write_table(tmp_path / "t.parquet", rows) == len(rows)
    found = polars.read_parquet(tmp_path / "t.parquet")
    assert found["text"][0].startswith('=HYPERLINK("http://x")\nnext')
    assert "\\ud800" in found["text"][0]
    assert found["input_tokens"][0] is None
    assert found["entry_cost_usd"][0] is None
    with (tmp_path / "t.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert len(cells) == len(rows)
    assert cells[0]["text"].startswith("'=HYPERLINK")
    assert len(cells[0]["text"]) <= 32_000
    assert cells[0]["reasoning"] == "'+1"
    assert cells[1]["id"] == "'=cmd()"
    assert (tmp_path / "t.csv").read_text(encoding="utf-8").count("\n") == len(rows) + 1


def test_mistakes_are_said(
    tmp_path: Path, runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["export", str(runs[0])]) == 2
    assert "--table FILE" in capsys.readouterr().err
    assert main(["export", str(runs[0]), "--table", str(tmp_path / "t.xlsx")]) == 2
    assert "a .parquet or a .csv" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("pytest_bfcl.extras.find_spec", lambda name: None)
    assert main(["export", str(runs[0]), "--table", str(tmp_path / "t.parquet")]) == 2
    assert 'pip install "pytest-bfcl[tables]"' in capsys.readouterr().err
    assert main(["export", str(runs[0]), "--table", str(tmp_path / "t.csv")]) == 0


def test_the_documented_columns_are_these() -> None:
    text = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
    section = text.partition("## Tables")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "| `" in line]
    assert [tuple(row) for row in rows if row[0].startswith("`")] == [
        (f"`{column.name}`", column.kind, column.words) for column in COLUMNS
    ]
