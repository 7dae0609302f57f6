"""The same run in one process, on workers, on other hosts, in shards: one result, every request made once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.cli import main
from tests.distributed import WORKERS

from .conftest import Bench

ALL = 40
OPTIONS = ("-q", "--tb=no", "--bfcl-concurrency=8", "--bfcl-price=1,2", "--bfcl-max-errors=5")


def timeless(summary: dict[str, Any]) -> str:
    """A summary as text without what a clock says."""
    summary = json.loads(json.dumps(summary))
    for name in ("started_at", "ended_at"):
        summary["fingerprint"].pop(name)
    for model in summary["models"].values():
        model.pop("latency")
    return json.dumps(summary)


@pytest.fixture
def whole(bench: Bench) -> str:
    """The summary of an undisturbed run in one process, with two entries that fail for good."""
    server = bench.with_conversations(3).serve({"kind": 400, "ids": "simple_python_(4|17)$"})
    code, text = bench.finish(*OPTIONS, out="whole")
    assert code == 1, text
    assert set(server.asked().values()) == {1}
    server.forget()
    return timeless(bench.summary("whole"))


def check(bench: Bench, whole: str, *args: str, workers: set[str]) -> None:
    """Run on workers: the same summary, and every request made once."""
    assert bench.server is not None
    bench.server.forget()
    out = "run-" + "-".join(sorted(workers))
    code, text = bench.finish(*OPTIONS, *args, out=out)
    assert code == 1, text
    assert set(bench.server.asked().values()) == {1}
    lines = (bench.path / out / "results.jsonl").read_text().splitlines()
    assert len(lines) == len(bench.records(out)) == ALL + 3
    assert {record["worker"] for record in bench.records(out).values() if record["worker"]} == workers
    assert timeless(bench.summary(out)).splitlines() == whole.splitlines()


@pytest.mark.parametrize(
    ("options", "count"),
    [
        pytest.param(["-n2"], 2, marks=pytest.mark.slow),
        pytest.param(["--dist=load", "--tx=3*popen"], 3, marks=pytest.mark.slow),
        pytest.param(["-n4"], 4, marks=pytest.mark.slow),
        pytest.param(["--dist=load", "--tx=popen"], 1, marks=pytest.mark.slow),
    ],
    ids=["n2", "3popen", "n4", "popen"],
)
def test_workers_give_the_summary_of_one_process(bench: Bench, whole: str, options: list[str], count: int) -> None:
    check(bench, whole, *options, workers={f"gw{number}" for number in range(count)})


@pytest.mark.slow
def test_shards_merge_to_the_summary_of_one_process(bench: Bench, whole: str, capsys) -> None:
    assert bench.server is not None
    for number in (1, 2, 3):
        code, text = bench.finish(*OPTIONS, f"--bfcl-shard={number}/3", out=f"parts/{number}")
        assert code in (0, 1), text
    assert set(bench.server.asked().values()) == {1}
    parts = [set(bench.records(f"parts/{number}")) for number in (1, 2, 3)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == ALL + 3
    assert {len(part) for part in parts} <= {14, 15}
    data = ["--data", str(bench.path / "bench"), "--max-errors=5"]
    assert main(["merge", str(bench.path / "parts"), "-o", str(bench.path / "merged"), *data]) == 0
    merged, of_one = json.loads(timeless(bench.summary("merged"))), json.loads(whole)
    assert merged.pop("gate") == {"verdict": "none", "checks": []}  # gates are asked for by a run, not by merge
    assert of_one.pop("gate")["verdict"] == "passed"
    assert merged == of_one
    assert main(["merge", str(bench.path / "parts" / "1"), "-o", str(bench.path / "part")]) == 1  # parts are missing
    assert bench.summary("part")["fingerprint"]["selection"]["shard"] == "1/3"
    assert "parts are missing: 2/3, 3/3" in str(bench.summary("part")["fingerprint"]["state"])
    bench.server.forget()
    code, text = bench.finish(*OPTIONS, out="merged")  # a merged run is continued like any other: its errors run again
    assert {line["id"] for line in bench.server.lines()} == {"simple_python_4", "simple_python_17"}


@pytest.mark.slow
def test_x_stops_the_other_workers(bench: Bench) -> None:
    bench.serve({"kind": 400, "ids": "simple_python_0$"}, delay=0.1)
    code, text = bench.finish("-q", "--tb=no", "--bfcl-concurrency=2", "-n2", "-x")
    assert code == pytest.ExitCode.TESTS_FAILED, text
    assert len(bench.records()) < ALL


@pytest.mark.slow
def test_a_lost_endpoint_stops_all_workers_with_one_message(bench: Bench) -> None:
    server = bench.serve({"kind": 401})
    code, text = bench.finish(*OPTIONS, "-n2")
    assert code == pytest.ExitCode.INTERRUPTED, text
    assert text.count("stopped:") == 1
    assert "refused the key" in text
    assert len(server.lines()) <= 16


@pytest.mark.parametrize("workers", WORKERS)
def test_no_file_of_a_run_shows_a_header(bench: Bench, session, workers: tuple[str, ...]) -> None:
    bench.serve()
    info = bench.path / "info.toml"
    info.write_text('[models."openai:mock"]\nname = "M"\nheaders = { X-Own = "own-secret-0123456789" }\n')
    result = session(
        "--bfcl-categories=simple_python", "--bfcl-header", "X-Team: team-secret-0123456789",
        f"--bfcl-model-info={info}", *workers,
    )  # fmt: skip
    assert result.ret == 0
    kept = [path for path in (bench.path / "run").rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        assert b"secret-0123456789" not in path.read_bytes(), path
    assert '"X-Team": "[hidden]"' in (bench.path / "run" / "run.json").read_text()
    assert "secret-0123456789" not in str(result.stdout) + str(result.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("workers", WORKERS)
def test_the_bound_of_auto_holds_for_all_processes_together(bench: Bench, workers: tuple[str, ...]) -> None:
    server = bench.serve(delay=0.03)
    code, text = bench.finish("--bfcl-concurrency=auto:6", "-q", *workers)
    assert code == 0, text
    assert server.most_in_flight() <= 6
    assert set(server.asked().values()) == {1}
    assert "--bfcl-concurrency auto came to " in text
    assert f"bound {3 if workers else 6})" in text


@pytest.mark.slow
def test_a_server_that_refuses_and_a_run_that_goes_on_with_a_fixed_number(bench: Bench) -> None:
    server = bench.serve({"kind": 429, "first": 1, "ids": "simple_python_[0-4]$"})
    code, text = bench.finish("--bfcl-concurrency=auto", "-q", "-k", "simple_python")
    assert code == 0, text
    assert "5 refused)" in text
    answered = len(bench.records())
    server.faults()
    server.forget()
    code, text = bench.finish("--bfcl-concurrency=4", "-q")
    assert code == 0, text
    assert "cannot continue" not in text
    assert "came to" not in text
    assert len(bench.records()) > answered
    assert not {line["id"] for line in server.lines()} & {f"simple_python_{number}" for number in range(20)}
