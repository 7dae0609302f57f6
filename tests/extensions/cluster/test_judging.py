"""Many files of rollouts judged in pieces: the same verdicts as `score` gives one file, by model."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from dataclasses import replace
from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.cluster import ray_pool
from pytest_bfcl.extensions.training import judging
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.fingerprint import plugin_version
from pytest_bfcl.session.evaluation import open_data, run, score_lines


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


@pytest.fixture(scope="module")
def table(rollouts: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Whole replay lines as Parquet, outputs of both kinds as JSON, beside a column that is none of a replay line."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    names = ("id", "category", "model", "mode", "output", "underscore_names")
    lines = [{name: line[name] for name in names} for line in map(json.loads, [*rollouts[:7], *rollouts[10:]])]
    rows = [
        {name: value for name, value in line.items() if name != "output"}
        | {"output_json": json.dumps(line["output"]), "logprobs": [0.5] * 100}
        for line in lines
    ]
    path = tmp_path_factory.mktemp("table") / "a.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=4)
    return path, lines


def test_row_groups_of_parquet_files(
    table: tuple[Path, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lines = table
    expected = json.loads(json.dumps(list(score_lines(lines, "bundled"))))
    assert len(judging.pieces_of([str(path)])) == 1  # small groups go together
    monkeypatch.setattr(judging, "STRETCH", 1)
    pieces = judging.pieces_of([str(path)])
    assert len(pieces) == -(-len(lines) // 4)
    assert [p.first for p in judging.counted(pieces, map(judging.lines_in, pieces))][:3] == [1, 5, 9]
    assert set(next(judging.lines_of(pieces[0]))) == set(lines[0])
    out = tmp_path / "out"
    assert main(["score", str(path.parent / "*.parquet"), "--data", "bundled", "-o", str(out)]) == 0
    assert verdicts(out) == sorted(expected, key=json.dumps)
    assert main(["score", str(path), "--data", "bundled", "-o", str(tmp_path / "one.jsonl")]) == 0
    assert [json.loads(line) for line in (tmp_path / "one.jsonl").open()] == expected


def test_calls_as_objects_of_a_parquet_file(rollouts: list[str], tmp_path: Path) -> None:
    """Arrow gives every object the fields of all: what is null in one was not said."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    lines = [line for line in map(json.loads, rollouts[:7]) if isinstance(line["output"], list)]
    for line in lines:
        line["output"] = [{"name": c["name"], "arguments": json.loads(c["arguments"])} for c in line["output"]]
    assert len({name for line in lines for call in line["output"] for name in call["arguments"]}) > 3
    rows = [{name: line[name] for name in ("id", "model", "mode", "output", "underscore_names")} for line in lines]
    strings = [[{**c, "arguments": {k: str(v) for k, v in c["arguments"].items()}} for c in r["output"]] for r in rows]
    rows = [{**row, "output": output} for row, output in zip(rows, strings, strict=True)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    read = list(judging.lines_of(judging.pieces_of([str(tmp_path / "a.parquet")])[0]))
    assert read == rows


@pytest.mark.slow
def test_several_processes_write_what_one_writes(rollouts: list[str], tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.jsonl").write_text("\n".join(rollouts) + "\n")
    for out, more in (("one", []), ("two", ["-n", "2"])):
        words = ["score", str(tmp_path / "*.jsonl"), "--data", "bundled", "-o", str(tmp_path / out), *more]
        assert main(words) == 1
    one, two = (
        {path.relative_to(tmp_path / out): path.read_text() for path in (tmp_path / out).rglob("*.jsonl")}
        for out in ("one", "two")
    )
    assert len(one) == 9
    assert one == two


def test_a_node_with_another_version_or_other_data_says_so(rollouts: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(rollouts[:7]) + "\n")
    how = judging.Judging(str(tmp_path / "out"), "bundled").pinned()
    assert how.data_sha256 == open_data("bundled").sha256
    (piece,) = judging.pieces_of([str(tmp_path / "a.jsonl")])
    row = piece._asdict() | {"at": 3}
    done = ray_pool._judge(row, how, plugin_version())
    assert (done["at"], done["problem"], done["lines"]) == (3, "", 7)
    for other, version, told in (
        (how, "0.0.1", "the driver 0.0.1"),
        (replace(how, data_sha256="0" * 64), plugin_version(), "the data bundled is another there"),
        (replace(how, data=str(tmp_path / "nowhere")), plugin_version(), "is missing"),
    ):
        problem = ray_pool._judge(row, other, version)["problem"]
        assert f"{socket.gethostname()} cannot judge: " in problem
        assert told in problem
        assert len(problem.splitlines()) <= 4
    gone = ray_pool._count({**row, "path": str(tmp_path / "gone.jsonl")}, how, plugin_version())
    assert "No such file" in gone["problem"]


def test_an_address_of_something_else_is_refused_before_ray_tries() -> None:
    class Answers(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(64)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with TCPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(UsageError, match="is no Ray cluster"):
            ray_pool._reach(f"127.0.0.1:{server.server_address[1]}")


def test_mistakes_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    damaged = tmp_path / "a.parquet"
    damaged.write_bytes(b"PAR1 and nothing else")
    one, two = str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")
    for words, told in (
        ([one, one], "name one with -o"),
        ([one, two, "-o", str(tmp_path / "out")], "no file at"),
        ([one, one, "-o", str(tmp_path)], "no empty folder"),
        ([one, "-n", "2"], "name one with -o"),
        ([str(damaged)], "is damaged or unreadable"),
        ([str(damaged), one, "-o", str(tmp_path / "out")], "is damaged or unreadable"),
        ([one, "s3://bucket/x", "-o", str(tmp_path / "out")], "under one path"),
    ):
        assert main(["score", *words]) == 2
        assert told in capsys.readouterr().err
