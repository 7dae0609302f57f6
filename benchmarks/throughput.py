"""How many requests a second one pytest process makes, beside the ideal and beside a bare asyncio client.

    python benchmarks/throughput.py [--concurrency 128 256] [--delay-ms 300] [--repeats 3] [--mock-server PATH]

Needs the official data (`pytest-bfcl fetch`) and the mock server (``--mock-server`` or ``PYTEST_BFCL_MOCK_SERVER``),
which runs in a process of its own. Both sides ask the same 3,641 single-turn requests, one after the other; rates are
requests over the time between the first request's arrival and the last answer, as the server counts them; ideal is
requests in flight over delay. CPU and memory are those of the asking process; CPU per request counts the test phase:
conversations, judging, journal, transcripts and pytest's own work; beside it stand that of the whole process, start,
collection and end included, and that of its children (the process that writes the HTML report). Medians of the
repeats. The reference (bfcl-eval 2026.3.23, 128 threads) reached 65-80 % of the ideal with 2 ms CPU a request and
400 MB.
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
    marks["children_mb"] = children.ru_maxrss / 1024
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
    began = time.process_time()
    asyncio.run(bare(f"{server.root}/v1/chat/completions", bodies, concurrency))
    cpu = time.process_time() - began
    count, span = server.span_s()
    assert count == len(bodies), count
    return {"rate": count / span, "cpu_ms": 1000 * cpu / count}


def measure_plugin(server: MockServer, concurrency: int, expected: int, parent: str, *options: str) -> dict[str, float]:
    """``parent`` keeps the folders of all repeats: making files just after deleting thousands is slow on some disks."""
    server.call("/reset", b"")
    folder = tempfile.mkdtemp(dir=parent)
    Path(folder, "throughput_probe.py").write_text(PROBE)
    Path(folder, "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": folder, "THROUGHPUT_PROBE": f"{folder}/probe.json"}
    command = [
        sys.executable, "-m", "pytest", "-q", "--tb=no", "-r", "N", "-p", "no:cacheprovider",
        "-p", "no:hypothesispytest", "-p", "throughput_probe", "--model", "openai:mock@fc", "--bfcl-data=official",
        f"--bfcl-categories={','.join(CATEGORIES)}", f"--bfcl-base-url={server.root}/v1",
        f"--bfcl-concurrency={concurrency}", f"--bfcl-out={folder}/run", *options,
    ]  # fmt: skip
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    whole = time.monotonic() - began
    marks = json.loads(Path(folder, "probe.json").read_text())
    count, span = server.span_s()
    assert count == expected, (count, expected)
    return {
        "rate": count / span,
        "cpu_ms": 1000 * (marks["run"][0] - marks["collected"][0]) / count,
        "whole_cpu_ms": 1000 * marks["end"][0] / count,
        "children_cpu_ms": 1000 * marks["children"] / count,
        "memory_mb": marks["memory_mb"],
        "children_mb": marks["children_mb"],
        "whole_s": whole,
        "before_s": marks["collected"][1] - marks["start"][1],
        "run_s": marks["run"][1] - marks["collected"][1],
        "after_s": marks["end"][1] - marks["run"][1],
    }


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
    options = parser.parse_args()
    bodies = request_bodies()
    with served(options) as (server, parent):
        for concurrency in options.concurrency:
            report(server, bodies, concurrency, options, parent)


def report(server: MockServer, bodies: list[bytes], concurrency: int, options: argparse.Namespace, parent: str) -> None:
    ideal = concurrency / (options.delay_ms / 1000)
    plain, ours = [], []
    for _ in range(options.repeats):  # in turns, so that a busy machine is busy for both
        plain.append(measure_bare(server, bodies, concurrency))
        ours.append(measure_plugin(server, concurrency, len(bodies), parent))
    rates = {name: statistics.median(run["rate"] for run in runs) for name, runs in (("bare", plain), ("ours", ours))}
    middle = {name: statistics.median(run[name] for run in ours) for name in ours[0]}
    pairs = statistics.median(a["rate"] / b["rate"] for a, b in zip(ours, plain, strict=True))
    print(
        f"{concurrency} in flight, {len(bodies)} requests of {options.delay_ms:g} ms, ideal {ideal:.0f}/s, "
        f"load {os.getloadavg()[0]:.1f}:\n"
        f"  bare aiohttp client  {rates['bare']:6.0f}/s  {100 * rates['bare'] / ideal:5.1f} % of ideal  "
        f"{statistics.median(run['cpu_ms'] for run in plain):.2f} ms CPU a request\n"
        f"  pytest --model       {rates['ours']:6.0f}/s  {100 * rates['ours'] / ideal:5.1f} % of ideal  "
        f"{middle['cpu_ms']:.2f} ms CPU a request ({middle['whole_cpu_ms']:.2f} with start and end, "
        f"{middle['children_cpu_ms']:.2f} of children), {middle['memory_mb']:.0f} MB (children "
        f"{middle['children_mb']:.0f}); "
        f"{100 * pairs:.1f} % of the bare client (median of pairs)\n"
        f"  seconds: {middle['whole_s']:.1f} the whole command, {middle['before_s']:.1f} start and collection, "
        f"{middle['run_s']:.1f} tests, {middle['after_s']:.1f} summary and report",
        flush=True,
    )


if __name__ == "__main__":
    main()
