"""Runs on a real Ray cluster of several nodes on this machine; Ray lives in a Python of its own (``BFCL_RAY``)."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import patience
from tests.session.conftest import Bench, Server, environment, write_conversations, write_entries

from .comparing import journaled, scores, stored

PYTHON = os.environ.get("BFCL_RAY", sys.executable)
ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
KEY = "sk-secret-0123456789abcdef"
MOCK = "openai:mock@fc"
IN_FLIGHT = 8
DEATHS = int(os.environ.get("BFCL_DEATHS", "4"))
"""How often a node dies under a driver."""

pytestmark = pytest.mark.slow


def of_ray() -> dict[str, str]:
    return environment() | {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": KEY, "RAY_USAGE_STATS_ENABLED": "0"}


class Nodes:
    """The cluster, told what to do."""

    def __init__(self, count: int) -> None:
        command = [PYTHON, str(HERE / "nodes.py"), str(count)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=of_ray(), cwd=ROOT, **pipes)
        self.address = self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return next(line.strip() for line in self.process.stdout if line[:1].isdigit() or line.startswith("done "))

    def tell(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        if word != "end":
            assert self._line() == f"done {word}"

    def end(self) -> None:
        self.tell("end")
        self.process.wait(60)


@pytest.fixture(scope="module", autouse=True)
def _ray() -> None:
    """Skips every test of this module where Ray is missing."""
    probe = subprocess.run([PYTHON, "-c", "import ray, pytest_bfcl"], capture_output=True, cwd=ROOT, env=of_ray())
    if probe.returncode:
        pytest.skip(f"no ray in {PYTHON}: pip install 'pytest-bfcl[ray]', or name a Python that has it with BFCL_RAY")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    started = Nodes(2)
    yield started
    started.end()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, shared_server: Server) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("place"), shared_server)
    write_entries(bench.path / "bench")
    write_conversations(bench.path / "bench", 10)
    return bench


@pytest.fixture(scope="module")
def alone(place: Bench) -> Path:
    """The same run in one process."""
    server = place.serve(delay=0.0)
    process = drive(place, server, None, "alone")
    told, _ = process.communicate(timeout=120)
    assert json.loads(told)["stopped"] is None
    return place.path / "alone"


def drive(place: Bench, server: Server, address: str | None, out: str, **more: Any) -> subprocess.Popen[str]:
    asked = {"address": address, "data": str(place.path / "bench"), "models": [MOCK], "out": str(place.path / out)}
    asked |= {"settings": {"base_url": server.url, "concurrency": IN_FLIGHT}, **more}
    command = [PYTHON, str(HERE / "ray_run.py"), json.dumps(asked)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=of_ray())


def until(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    for _ in range(2400):
        if what():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("it does not come to that")


@pytest.mark.parametrize("trouble", ["none", "actor", "node", "driver"])
def test_whatever_dies_nothing_answered_is_asked_twice(trouble: str, nodes: Nodes, place: Bench, alone: Path) -> None:
    server = place.serve(delay=0.25)
    process = drive(place, server, nodes.address, trouble, actors=2)
    until(lambda: len(server.lines("answered")) > 40, process)
    if trouble == "driver":
        process.kill()
        process.communicate()
        time.sleep(2)  # until Ray has noticed
        kept = journaled(place.path / trouble)
        assert len(kept) >= 30
        before = server.asked()
        process = drive(place, server, nodes.address, trouble, actors=2)
    elif trouble != "none":
        nodes.tell(trouble)
        if trouble == "node":
            nodes.tell("add")
    told, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    result = json.loads(told.splitlines()[-1])
    assert result["stopped"] is None
    out = place.path / trouble
    assert stored(out) == stored(alone)
    assert scores(out) == scores(alone)
    asked = server.asked()
    assert set(journaled(out).values()) == {1}
    assert set(journaled(out)) == set(journaled(alone))
    # What was in flight; the actors of a driver that was killed go on asking until Ray has noticed, about a second.
    bound = {"none": 0, "driver": 4 * IN_FLIGHT}.get(trouble, IN_FLIGHT)
    assert sum(asked.values()) - len(asked) <= bound
    if trouble == "driver":
        again = {place for place in asked if asked[place] > before[place]}
        assert not {(name, 1, turn, step, MOCK) for name, turn, step in again} & set(kept)
    else:
        assert any("an actor was lost" in note for note in result["notes"]) == (trouble != "none")
    assert {line["key"] for line in server.lines()} == {f"Bearer {KEY}"}


def test_no_node_that_dies_ends_the_driver(nodes: Nodes, place: Bench) -> None:
    """Again and again: neither a signal ends it, nor does a line of Ray's reach the terminal."""
    for number in range(DEATHS):
        server = place.serve(delay=0.1)
        process = drive(place, server, nodes.address, f"death-{number}", actors=2)
        until(lambda: len(server.lines("answered")) > 10 + 5 * number, process)  # noqa: B023 - asked at once
        nodes.tell("node")
        nodes.tell("add")
        told, errors = process.communicate(timeout=300)
        assert (process.returncode, errors) == (0, ""), told
        assert json.loads(told.splitlines()[-1])["stopped"] is None


def verb(*words: str, before: str = "pass") -> subprocess.CompletedProcess[str]:
    """A verb of the command line in Ray's Python."""
    program = f"import sys; {before}; from pytest_bfcl.cli import main; sys.exit(main())"
    command = [PYTHON, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=of_ray(), timeout=300)


AS_PARQUET = """
import json, pyarrow, sys
from pyarrow import parquet
lines = [json.loads(line) for line in open(sys.argv[1])]
keep = ("id", "category", "model", "mode", "underscore_names")
rows = [{name: line[name] for name in keep} | {"output_json": json.dumps(line["output"])} for line in lines]
parquet.write_table(pyarrow.Table.from_pylist(rows), sys.argv[2], row_group_size=20)
"""


@pytest.mark.parametrize("where", ["nodes", "local"])
def test_judging_on_ray_equals_judging_here(
    where: str, alone: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = request.getfixturevalue("nodes").address if where == "nodes" else "local"
    lines = (alone / "results.jsonl").read_text(encoding="utf-8").splitlines()
    for number in range(3):
        part = [*lines[number::3], '{"torn'] if number == 1 else lines[number::3]
        (tmp_path / f"part-{number}.jsonl").write_text("\n".join(part) + "\n")
    command = [PYTHON, "-c", AS_PARQUET, str(tmp_path / "part-0.jsonl"), str(tmp_path / "part-3.parquet")]
    subprocess.run(command, check=True)
    words = ["score", str(tmp_path / "part-*"), "--data", str(alone.parent / "bench"), "-o"]
    for out, more in (("here", []), ("there", ["--ray", address])):
        done = verb(*words, str(tmp_path / out), *more)
        assert done.returncode == 1, done.stderr
        assert f"1 lines of {tmp_path / 'part-1.jsonl'} not judged, the first: line" in done.stderr
        assert len(done.stderr.splitlines()) == 2  # Ray itself says nothing
    here, there = (
        {path.relative_to(tmp_path / out): path.read_text() for path in (tmp_path / out).rglob("*.jsonl")}
        for out in ("here", "there")
    )
    assert here == there
    assert sum(text.count("\n") for text in here.values()) == len(lines) + 1 + len(lines[::3])


def test_another_release_of_ray_is_named(nodes: Nodes, tmp_path: Path) -> None:
    """What Ray itself compares when it connects."""
    done = verb("run", "--model", "oracle:@fc", "--data", "bundled", "--categories", "simple_java",
                "-o", str(tmp_path / "run"), "--ray", nodes.address,
                before="import ray; ray.__version__ = '2.51.0'")  # fmt: skip
    assert done.returncode == 2
    assert "2.51.0" in done.stderr
    assert "install the same versions of Ray and Python here and there" in done.stderr
    assert len(done.stderr.splitlines()) <= 5, done.stderr


@pytest.mark.parametrize(
    ("number", "answered"), [(signal.SIGINT, 40), (signal.SIGTERM, 0), (signal.SIGTERM, 8), (signal.SIGTERM, 40)]
)
def test_a_signal_keeps_what_was_answered(
    number: signal.Signals, answered: int, nodes: Nodes, place: Bench, alone: Path
) -> None:
    """While replies are in flight, the first ones included: a summary, exit 2, and only those are asked again."""
    server = place.serve(delay=0.25)
    out = place.path / f"{number.name}-{answered}"
    words = ["run", "--model", MOCK, "--base-url", server.url, "--data", str(place.path / "bench"), "-o", str(out)]
    words += ["--concurrency", str(IN_FLIGHT), "--ray-actors", "2", "--ray", nodes.address, "--report", "none"]
    command = [PYTHON, "-m", "pytest_bfcl", *words]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT, "env": of_ray()}
    restore = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a suite in the background ignores it
    process = subprocess.Popen(command, preexec_fn=restore, **pipes)
    until(lambda: len(server.lines("answered")) > answered, process)
    process.send_signal(number)
    told, errors = process.communicate(timeout=60)
    assert process.returncode == 2, errors
    results = out / "results.jsonl"
    finished = results.exists() and results.stat().st_size > 0
    assert f"stopped: interrupted{'; results are kept' if finished else ''}\n" in told
    assert len(errors.splitlines()) <= 2, errors
    assert json.loads((out / "summary.json").read_text())["fingerprint"]["state"] == "stopped:interrupted"
    kept = journaled(out)
    assert len(kept) >= answered - IN_FLIGHT
    time.sleep(1)
    before = server.asked()
    time.sleep(1)
    assert server.asked() == before  # no actor goes on
    again = subprocess.run(command, timeout=300, capture_output=True, text=True, cwd=ROOT, env=of_ray())
    assert again.returncode in (0, 1), again.stderr
    asked = server.asked()
    assert not {(name, 1, turn, step, MOCK) for name, turn, step in asked if asked[name, turn, step] > before[
        name, turn, step]} & set(kept)  # fmt: skip
    assert stored(out) == stored(alone)
    assert set(journaled(out).values()) == {1}


def test_a_cluster_started_for_the_run(place: Bench, alone: Path) -> None:
    server = place.serve(delay=0.0)
    process = drive(place, server, "local", "local", actors=2)
    told, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert json.loads(told.splitlines()[-1])["stopped"] is None
    assert stored(place.path / "local") == stored(alone)
    assert set(server.asked().values()) == {1}


def test_no_file_of_ray_shows_the_key(nodes: Nodes, place: Bench, alone: Path) -> None:
    session = Path("/tmp/ray/session_latest").resolve()
    logs = [
        path for path in session.rglob("*") if path.is_file() and path.suffix in (".log", ".out", ".err", ".txt", "")
    ]
    assert logs
    assert [path for path in logs if KEY.encode() in path.read_bytes()] == []


def test_an_address_where_nobody_is_is_said_at_once(place: Bench) -> None:
    server = place.serve()
    began = time.monotonic()
    process = drive(place, server, "127.0.0.1:9", "nowhere")
    _, errors = process.communicate(timeout=120)
    assert "no Ray cluster at 127.0.0.1:9" in errors
    assert "ray start --head" in errors
    assert time.monotonic() - began < patience(60)
