"""Many files of rollouts judged in pieces: the same verdicts as `score` gives one file, by model."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.cluster import judging
from pytest_bfcl.evaluation import run, score_lines


@pytest.fixture(scope="module")
def rollouts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Lines of two models, with damage in the middle."""
    out = tmp_path_factory.mktemp("rollouts") / "run"
    run("bundled", ["lexical:@fc", "oracle:@prompt"], categories=["simple_java", "parallel"], out=out)
    lines = (out / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return [*lines[:7], '{"id": "simple_java_0", "output"', "", '{"id": "nobody_7", "output": "x"}', *lines[7:]]


def verdicts(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text().splitlines()]
    return sorted(({k: v for k, v in each.items() if k != "file"} for each in found), key=json.dumps)


def test_pieces_of_any_size_have_the_verdicts_of_score(
    rollouts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(rollouts) + "\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(rollouts[:20]).encode()))
    lines = [f"{line}\n" for line in rollouts]
    expected = [*score_lines(lines, "bundled"), *score_lines(lines[:20], "bundled")]
    for size in (judging.STRETCH, 3000, 700):
        monkeypatch.setattr(judging, "STRETCH", size)
        out = tmp_path / f"out-{size}"
        words = ["score", str(tmp_path / "a.jsonl"), str(tmp_path / "b.*"), "--data", "bundled", "-o", str(out)]
        assert main(words) == 1
        assert verdicts(out) == sorted(json.loads(json.dumps(expected)), key=json.dumps)
        assert {path.name for path in out.iterdir()} == {"model=lexical_@fc", "model=oracle_@prompt", "model=unknown"}
        told = capsys.readouterr().err
        assert "b.jsonl.gz not judged, the first: line 8:" in told
    errors = [json.loads(line) for p in (tmp_path / "out-700" / "model=unknown").iterdir() for line in p.open()]
    assert {each["file"] for each in errors} == {str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl.gz")}


def test_row_groups_of_parquet_files(rollouts: list[str], tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    kept = [line for line in map(json.loads, [*rollouts[:7], *rollouts[10:]]) if isinstance(line["output"], str)]
    names = ("id", "category", "model", "mode", "output", "underscore_names")
    rows = [{name: line[name] for name in names} for line in kept]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=4)
    pieces = judging.pieces_of([str(tmp_path / "a.parquet")])
    assert len(pieces) == -(-len(rows) // 4)
    assert [p.first for p in judging.counted(pieces, map(judging.lines_in, pieces))][:3] == [1, 5, 9]
    out = tmp_path / "out"
    assert main(["score", str(tmp_path / "*.parquet"), "--data", "bundled", "-o", str(out)]) == 0
    assert verdicts(out) == sorted(json.loads(json.dumps(list(score_lines(rows, "bundled")))), key=json.dumps)


def test_mistakes_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    one, two = str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")
    for words, told in (
        ([one, one], "name one with -o"),
        ([one, two, "-o", str(tmp_path / "out")], "no file at"),
        ([one, one, "-o", str(tmp_path)], "not empty"),
        ([one, "s3://bucket/x", "-o", str(tmp_path / "out")], "under one path"),
    ):
        assert main(["score", *words]) == 2
        assert told in capsys.readouterr().err
