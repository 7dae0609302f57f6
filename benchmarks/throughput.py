"""What a request costs and how many a second are made, as ratios to a bare asyncio client and an empty test of pytest.

    python benchmarks/throughput.py [--concurrency 128 256] [--delay-ms 300] [--repeats 3] [--mock-server PATH]

Needs the official data (`pytest-bfcl fetch`) and the mock server (``--mock-server`` or ``PYTEST_BFCL_MOCK_SERVER``),
which runs in a process of its own. All sides ask the same 3,641 single-turn requests in turns, each in a process of its
own: a bare aiohttp client, `pytest_bfcl.run`, and ``pytest --model``; beside them as many empty test functions with two
session fixtures. CPU is that of the asking process: of the bare client its requests, of `run` the second of two
calls, of both pytests what comes after collection, summary and report included. Rates are requests over the time
between the first one's arrival and the last answer, as the server counts them; ideal is requests in flight over delay.
Medians of the repeats. ``--start`` measures what starting costs instead: one entry, and a session without a model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_bfcl.fetching.official import fetched_folder
from pytest_bfcl.session.evaluation import open_data

REPOSITORY = Path(__file__).resolve().parents[1]
CATEGORIES = ("non_live", "live")
PROBE = """
import json, os, resource, time, pytest
marks = {"start": (time.process_time(), time.monotonic())}
def mark(name):
    marks[name] = (time.process_time(), time.monotonic())
@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    mark("collected")
@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    mark("run")
def pytest_unconfigure(config):
    mark("end")
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    marks["children"] = children.ru_utime + children.ru_stime
    marks["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with open(os.environ["THROUGHPUT_PROBE"], "w") as file:
        json.dump(marks, file)
"""


class MockServer:
    """The mock server in a process of its own."""

    def __init__(self, script: Path, data: Path, delay_ms: float) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.root = f"http://127.0.0.1:{port}"
        command = [sys.executable, str(script), "--data", str(data), "--port", str(port), "--delay-ms", str(delay_ms)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                self.call("/stats")
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the mock server does not start")

    def call(self, path: str, body: bytes | None = None):
        """One small request to the server itself."""
        with urllib.request.urlopen(urllib.request.Request(self.root + path, body), timeout=10) as answer:
            return json.load(answer)

    def span_s(self) -> tuple[int, float]:
        """Requests since the last reset, and the time from the first one's arrival to the last answer."""
        stats = self.call("/stats")
        return stats["counts"]["requests"], stats["span_s"]


async def bare(url: str, bodies: list[bytes], concurrency: int) -> None:
    """The least an asyncio client can do: send, read, parse."""
    import aiohttp

    waiting = iter(bodies)
    connector = aiohttp.TCPConnector(limit=concurrency)
    headers = {"content-type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def worker() -> None:
            for body in waiting:
                async with session.post(url, data=body) as response:
                    json.loads(await response.read())

        await asyncio.gather(*(worker() for _ in range(concurrency)))


def request_bodies() -> list[bytes]:
    """The bodies of all single-turn requests, as the adapter sends them."""
    from pytest_bfcl.dataset.categories import GROUPS
    from pytest_bfcl.models import create_model
    from pytest_bfcl.models.base import Request
    from pytest_bfcl.settings import Settings

    data = open_data("official")
    model = create_model("openai:mock@fc", Settings(base_url="http://localhost/v1"))
    names = [name for group in CATEGORIES for name in GROUPS[group]]
    entries = (data.load(ref) for name in names for ref in data.index(name))
    return [json.dumps(model.payload(Request(e, list(e.question[0]), e.function))).encode() for e in entries]


def measure_bare(server: MockServer, bodies: list[bytes], concurrency: int) -> dict[str, float]:
    server.call("/reset", b"")
    began, at = time.process_time(), time.monotonic()
    asyncio.run(bare(f"{server.root}/v1/chat/completions", bodies, concurrency))
    cpu, whole = time.process_time() - began, time.monotonic() - at
    count, span = server.span_s()
    assert count == len(bodies), count
    return {"rate": count / span, "cpu_ms": 1000 * cpu / count, "whole_s": whole}


RUN = """
import json, os, resource, sys, time
import aiohttp  # loaded before, as by the bare client from its second round on
import pytest_bfcl
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.settings import Settings
url, concurrency, folder = sys.argv[1:]
data, settings = open_data("official"), Settings(base_url=url, concurrency=int(concurrency))
pytest_bfcl.run(data, ["oracle:"], categories=["non_live"], sample=20, out=folder + "/first", settings=settings)
began = time.process_time()
pytest_bfcl.run(data, ["openai:mock@fc"], categories=["non_live", "live"], out=folder + "/run", settings=settings)
with open(os.environ["THROUGHPUT_PROBE"], "w") as file:
    json.dump({"cpu": time.process_time() - began}, file)
"""
EMPTY = """
import pytest
@pytest.fixture(scope="session")
def model(): return 1
@pytest.fixture(scope="session")
def loop(): return 1
@pytest.mark.parametrize("number", range(%d))
def test_nothing(number, model, loop): pass
"""
QUIET = ("-q", "--tb=no", "-r", "N", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "throughput_probe")


def probed(folder: str, *command: str) -> dict:
    """What a Python process of its own, which ended well or with failed tests, wrote down of itself."""
    Path(folder, "throughput_probe.py").write_text(PROBE)
    Path(folder, "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": folder, "THROUGHPUT_PROBE": f"{folder}/probe.json"}
    began = time.monotonic()
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    return json.loads(Path(folder, "probe.json").read_text()) | {"whole_s": time.monotonic() - began}


def measure_empty(count: int, parent: str) -> float:
    """CPU milliseconds of pytest for a test that does nothing."""
    folder = tempfile.mkdtemp(dir=parent)
    Path(folder, "test_nothing.py").write_text(EMPTY % count)
    marks = probed(folder, "-m", "pytest", *QUIET, "-p", "no:bfcl")
    return 1000 * (marks["end"][0] - marks["collected"][0]) / count


def measure_run(server: MockServer, concurrency: int, expected: int, parent: str) -> dict[str, float]:
    """`pytest_bfcl.run` over the same requests."""
    server.call("/reset", b"")
    folder = tempfile.mkdtemp(dir=parent)
    marks = probed(folder, "-c", RUN, f"{server.root}/v1", str(concurrency), folder)
    count, span = server.span_s()
    assert count == expected, (count, expected)
    return {"rate": count / span, "cpu_ms": 1000 * marks["cpu"] / count}


def measure_plugin(server: MockServer, concurrency: int, expected: int, parent: str, *options: str) -> dict[str, float]:
    """``parent`` keeps the folders of all repeats: making files just after deleting thousands is slow on some disks."""
    server.call("/reset", b"")
    folder = tempfile.mkdtemp(dir=parent)
    asked = ("--model", "openai:mock@fc", "--bfcl-data=official", f"--bfcl-categories={','.join(CATEGORIES)}")
    where = (f"--bfcl-base-url={server.root}/v1", f"--bfcl-concurrency={concurrency}", f"--bfcl-out={folder}/run")
    marks = probed(folder, "-m", "pytest", *QUIET, *asked, *where, *options)
    count, span = server.span_s()
    assert count == expected, (count, expected)
    return {
        "rate": count / span,
        "cpu_ms": 1000 * (marks["run"][0] - marks["collected"][0]) / count,
        "all_cpu_ms": 1000 * (marks["end"][0] - marks["collected"][0] + marks["children"]) / count,
        "run_s": marks["run"][1] - marks["collected"][1],
        "memory_mb": marks["memory_mb"],
        "whole_s": marks["whole_s"],
    }


def measure_start(parent: str) -> list[float]:
    """CPU seconds of one entry, of an empty test beside the plugin, and of one without it."""
    folder = tempfile.mkdtemp(dir=parent)
    Path(folder, "test_nothing.py").write_text("def test_nothing(): pass\n")
    one = ("--model=oracle:", "--bfcl-data=bundled", "--bfcl-categories=simple_python", "--bfcl-sample=1")
    kinds = ((*one, f"--bfcl-out={folder}/run"), (), ("-p", "no:bfcl"))
    return [probed(folder, "-m", "pytest", *QUIET, *kind)["end"][0] for kind in kinds]


def arguments() -> argparse.ArgumentParser:
    """Options of every benchmark that asks the mock server."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay-ms", type=float, default=300.0)
    parser.add_argument("--repeats", type=int, default=3)
    default = os.environ.get("PYTEST_BFCL_MOCK_SERVER") or REPOSITORY.parent / "shared" / "tools" / "mock_server.py"
    parser.add_argument("--mock-server", type=Path, default=Path(default))
    return parser


@contextmanager
def served(options: argparse.Namespace) -> Iterator[tuple[MockServer, str]]:
    """The mock server with the official data, and a folder for runs."""
    folder = fetched_folder()
    if folder is None or not options.mock_server.is_file():
        raise SystemExit("needs the official data (pytest-bfcl fetch) and --mock-server PATH")
    data = next(path.parent for path in sorted(folder.rglob("BFCL_v4_simple_python.json")) if "answer" not in str(path))
    server = MockServer(options.mock_server, data, options.delay_ms)
    try:
        with tempfile.TemporaryDirectory() as parent:
            yield server, parent
    finally:
        server.process.kill()


def main() -> None:
    parser = arguments()
    parser.add_argument("--concurrency", type=int, nargs="+", default=[128, 256])
    parser.add_argument("--start", action="store_true")
    options = parser.parse_args()
    if options.start:
        with tempfile.TemporaryDirectory() as parent:
            runs = zip(*(measure_start(parent) for _ in range(options.repeats)), strict=True)
            one, beside, without = map(min, runs)  # what is above the least is other load
        print(
            f"one entry {one:.2f} s CPU; an empty test {without:.2f} s, {1000 * (beside - without):+.0f} ms beside us"
        )
        return
    bodies = request_bodies()
    with served(options) as (server, parent):
        for concurrency in options.concurrency:
            report(server, bodies, concurrency, options, parent)


def report(server: MockServer, bodies: list[bytes], concurrency: int, options: argparse.Namespace, parent: str) -> None:
    ideal = concurrency / (options.delay_ms / 1000)
    found: dict[str, list[dict[str, float]]] = {"bare": [], "run": [], "plugin": []}
    empty: list[float] = []
    for _ in range(options.repeats):  # in turns, so that a busy machine is busy for all
        found["bare"].append(measure_bare(server, bodies, concurrency))
        found["run"].append(measure_run(server, concurrency, len(bodies), parent))
        found["plugin"].append(measure_plugin(server, concurrency, len(bodies), parent))
        empty.append(measure_empty(len(bodies), parent))

    def ratio(who: str, what: str, more: list[float] | None = None) -> float:
        pairs = zip(found[who], found["bare"], more or [0.0] * len(empty), strict=True)
        return statistics.median(a[what] / (b["cpu_ms" if "cpu" in what else what] + extra) for a, b, extra in pairs)

    middle = {
        who: {name: statistics.median(run[name] for run in runs) for name in runs[0]} for who, runs in found.items()
    }
    bare, run, plugin = middle.values()
    print(
        f"{concurrency} in flight, {len(bodies)} requests of {options.delay_ms:g} ms, ideal {ideal:.0f}/s, "
        f"load {os.getloadavg()[0]:.1f}, medians of {options.repeats}:\n"
        f"  bare client       {bare['rate']:4.0f}/s  {bare['cpu_ms']:.2f} ms CPU a request; "
        f"empty test {statistics.median(empty):.2f} ms\n"
        f"  pytest_bfcl.run   {run['rate']:4.0f}/s  {run['cpu_ms']:.2f} ms: {ratio('run', 'cpu_ms'):.2f} x bare\n"
        f"  pytest --model    {plugin['rate']:4.0f}/s  {plugin['all_cpu_ms']:.2f} ms ({plugin['cpu_ms']:.2f} tests): "
        f"{ratio('plugin', 'all_cpu_ms', empty):.2f} x (bare + empty test), {plugin['memory_mb']:.0f} MB\n"
        f"  rate {100 * ratio('plugin', 'rate'):.0f} % of the bare client's, the whole command "
        f"{ratio('plugin', 'whole_s'):.2f} x its time ({plugin['whole_s']:.1f} s)",
        flush=True,
    )


if __name__ == "__main__":
    main()
