"""A small project asked against a server that fails on demand, in this process or in processes of its own."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import Request
from pytest_bfcl.transcript import Mode, Reply
from tests.patience import patience
from tests.plugin.conftest import call, question, write_lines

REPOSITORY = Path(__file__).resolve().parents[2]
QUIET = ("-p", "no:hypothesispytest", "-p", "no:cacheprovider")


class Answering:
    """A model that counts its requests and answers `question`; wrong or no answers to entries by their number."""

    underscore_names = True
    closed = 0

    def __init__(
        self,
        spec: str = "own:first@fc",
        *,
        mode: Mode = "fc",
        wrong: Container[int] = (),
        broken: Container[int] = (),
        seconds: float = 0.0,
    ) -> None:
        self.spec, self.mode, self.wrong, self.broken, self.seconds = spec, mode, wrong, broken, seconds
        self.asked: list[str] = []

    async def generate(self, request: Request) -> Reply:
        self.asked.append(request.entry.id)
        number = int(request.entry.id.rpartition("_")[2])
        await asyncio.sleep(self.seconds)
        if number in self.broken:
            raise AdapterError("server", "it is down", status=503)
        return Reply.from_output(call("Rome" if number in self.wrong else "Oslo"), input_tokens=1000, output_tokens=0)

    async def aclose(self) -> None:
        self.closed += 1


class Server:
    """The faulty server, running."""

    def __init__(self, data: Path, log: Path) -> None:
        self.log = log
        self.delay = 0.0
        script = Path(__file__).with_name("server.py")
        command = [sys.executable, str(script), "--data", str(data), "--log", str(log)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
        assert self.process.stdout is not None
        self.root = f"http://127.0.0.1:{int(self.process.stdout.readline())}"
        self.url = self.root + "/v1"

    def faults(self, *faults: dict[str, Any]) -> None:
        """From now on fail like this."""
        body = json.dumps({"faults": faults, "delay": self.delay}).encode()
        request = urllib.request.Request(f"{self.root}/config", body, method="POST")
        urllib.request.urlopen(request, timeout=10).close()

    def most_in_flight(self) -> int:
        return self._stats()["most_in_flight"]

    def in_flight(self) -> int:
        """Requests that are being answered at this moment."""
        return self._stats()["in_flight"]

    def _stats(self) -> dict[str, int]:
        with urllib.request.urlopen(f"{self.root}/stats", timeout=10) as answer:
            return dict(json.load(answer))

    def lines(self, what: str = "asked") -> list[dict[str, Any]]:
        """What happened so far."""
        text = self.log.read_text() if self.log.exists() else ""
        return [line for line in map(json.loads, text.splitlines()) if line["what"] == what]

    def asked(self) -> Counter[tuple[str, int, int]]:
        """How often each query (entry id, turn, step) was asked."""
        return Counter((line["id"], line["turn"], line["step"]) for line in self.lines())

    def forget(self) -> None:
        """Start the log anew."""
        os.truncate(self.log, 0)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def write_entries(folder: Path) -> None:
    """40 single-turn entries of three categories."""
    write_lines(folder / "simple_python.jsonl", [question(f"simple_python_{n}", f"Port {n}") for n in range(30)])
    write_lines(folder / "multiple.jsonl", [question(f"multiple_{n}", f"Hill {n}") for n in range(6)])
    none = [question(f"irrelevance_{n}", f"Nowhere {n}") | {"possible_answer": None} for n in range(4)]
    write_lines(folder / "irrelevance.jsonl", none)


def write_conversations(folder: Path, count: int) -> None:
    """Bundled multi-turn entries."""
    lines = (REPOSITORY / "data" / "multi_turn_base.jsonl").read_text(encoding="utf-8").splitlines()[:count]
    write_lines(folder / "multi_turn_base.jsonl", list(lines))


def write_memories(folder: Path, count: int) -> None:
    """The bundled write stages of the memory, and questions about them."""
    source = REPOSITORY / "data"
    lines = (source / "memory.jsonl").read_text(encoding="utf-8").splitlines()[:count]
    write_lines(folder / "memory.jsonl", list(lines))
    shutil.copytree(source / "memory_prereq", folder / "memory_prereq")


class Bench:
    """A project with 40 single-turn entries (and multi-turn ones on request), asked at the shared server."""

    def __init__(self, path: Path, shared: Server) -> None:
        self.path = path
        self.shared = shared
        (path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
        write_entries(path / "bench")
        self.server: Server | None = None

    def with_conversations(self, count: int) -> Bench:
        """Add bundled multi-turn entries, at most ten."""
        write_conversations(self.path / "bench", count)
        return self

    def with_memories(self, count: int) -> Bench:
        """Add bundled memory entries, at most ten."""
        write_memories(self.path / "bench", count)
        return self

    def serve(self, *faults: dict[str, Any], delay: float = 0.005) -> Server:
        """Use the server, which fails like this; until then nobody listens."""
        self.server = self.shared
        self.server.delay = delay
        self.server.faults(*faults)
        self.server.forget()
        return self.server

    def arguments(self, *args: str, out: str = "run", url: str | None = None) -> list[str]:
        """The command line of a run."""
        url = url or (self.server.url if self.server else "http://127.0.0.1:9/v1")
        fixed = ["--model", "openai:mock@fc", "--bfcl-data=bench", "--bfcl-base-url", url, "--bfcl-out", out]
        return [*QUIET, *fixed, *args]

    def start(
        self, *args: str, out: str = "run", wrap: tuple[str, ...] = (), verb: bool = False, **more: Any
    ) -> subprocess.Popen[str]:
        """A run in a process of its own; ``verb``: of `pytest-bfcl run`."""
        words = self.arguments(*args, out=out)
        program = ["pytest_bfcl", "run", *words[len(QUIET) :]] if verb else ["pytest", *words]
        command = [*wrap, sys.executable, "-m", *program]
        # A suite started in the background ignores SIGINT, and children would inherit that.
        restore = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": environment()}
        return subprocess.Popen(command, cwd=self.path, **(options | {"preexec_fn": restore} | more))

    def finish(self, *args: str, out: str = "run", wrap: tuple[str, ...] = (), verb: bool = False) -> tuple[int, str]:
        """A whole run in a process of its own: exit code and what it printed."""
        process = self.start(*args, out=out, wrap=wrap, verb=verb)
        text, _ = process.communicate(timeout=patience(120))
        return process.returncode, text

    def records(self, out: str = "run") -> dict[str, dict[str, Any]]:
        """Entry id (and repeat beyond the first) → the last line of results.jsonl that can be read."""
        found = {}
        path = self.path / out / "results.jsonl"
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            found[record["id"] if record["repeat"] == 1 else f"{record['id']}-r{record['repeat']}"] = record
        return found

    def verdicts(self, out: str = "run") -> dict[str, tuple[str, str | None]]:
        """What the results come to: entry id → outcome and reason."""
        return {name: (r["outcome"], r["reason"]) for name, r in self.records(out).items()}

    def summary(self, out: str = "run") -> dict[str, Any]:
        return json.loads((self.path / out / "summary.json").read_text(encoding="utf-8"))

    def numbers(self, out: str = "run") -> dict[str, Any]:
        """The model's part of the summary."""
        (model,) = self.summary(out)["models"].values()
        return model

    def journal(self, out: str = "run") -> set[tuple[str, int, int]]:
        """Queries with a whole line in the journal."""
        found = set()
        for path in (self.path / out / "journal").glob("*.jsonl"):
            for line in path.read_bytes().split(b"\n")[:-1]:
                value = json.loads(line)
                found.add((value["id"], value["turn"], value["step"]))
        return found


def environment() -> dict[str, str]:
    """This process's environment with everything of CI taken out."""
    return {
        name: value
        for name, value in os.environ.items()
        if name == "PYTEST_BFCL_CACHE" or not name.startswith(("CI", "GITHUB", "PYTEST_"))
    }


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    write_entries(folder / "bench")
    write_conversations(folder / "bench", 10)
    write_memories(folder / "bench", 10)
    server = Server(folder / "bench", folder / "requests.jsonl")
    yield server
    server.stop()


@pytest.fixture
def bench(tmp_path: Path, shared_server: Server) -> Bench:
    return Bench(tmp_path, shared_server)


@pytest.fixture
def session(bench: Bench, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs pytest in this process, in the bench's folder: quicker than a process of its own."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(bench.path)

    def run(*args: str, out: str = "run", url: str | None = None) -> pytest.RunResult:
        return pytester.runpytest_inprocess(f"--rootdir={bench.path}", *bench.arguments(*args, out=out, url=url))

    return run
