"""Engines are started, waited for and ended, whatever happens to them or to us."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pytest_bfcl.extensions.serving.process import RunningEngine, start_engine
from pytest_bfcl.extensions.serving.table import ENGINES, Engine
from pytest_bfcl.failures import UsageError
from tests.extensions.serving.processes import alive
from tests.patience import patience

STUB = Path(__file__).with_name("stub_engine.py")
ENGINE = dataclasses.replace(ENGINES["vllm"], program=lambda: [sys.executable, str(STUB)])

pytestmark = pytest.mark.skipif(os.name != "posix", reason="engines are started on POSIX systems only")


class Started(list[RunningEngine]):
    def __call__(self, folder: Path, *extra: str, engine: Engine = ENGINE, native: bool = True) -> RunningEngine:
        self.append(start_engine(engine, "Qwen/Qwen3-8B", folder, extra=extra, native=native))
        return self[-1]


@pytest.fixture
def started() -> Iterator[Started]:
    """Starts stub engines and stops them."""
    engines = Started()
    yield engines
    for engine in engines:
        engine.stop()


def test_an_engine_is_ready_when_it_answers_and_gone_when_stopped(started: Started, tmp_path: Path) -> None:
    engine = started(tmp_path)
    engine.wait_until_ready(stall_s=20)
    assert httpx.get(f"{engine.base_url}/models").json()["data"][0]["id"] == "Qwen/Qwen3-8B"
    engine.stop()
    assert engine.ended is not None
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"{engine.base_url}/models")


def test_no_credential_of_an_engine_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_canary-0123456789")
    said: list[str] = []
    printing = "import os, sys; print(sys.argv, os.environ['HF_TOKEN'], flush=True); sys.exit(3)"
    engine = dataclasses.replace(ENGINE, program=lambda: [sys.executable, "-c", printing])
    running = start_engine(engine, "m", tmp_path, extra=["--api-key", "sk-canary-0123456789"], said=said.append)
    with pytest.raises(UsageError) as caught:
        running.wait_until_ready(stall_s=20)
    kept = running.log.read_text()
    assert kept.count("[hidden]") == 3
    assert "canary" not in f"{kept} {said} {running.command} {caught.value}"


def test_prompting_needs_no_parser_and_the_user_s_options_replace_ours(tmp_path: Path) -> None:
    plain = ENGINE.command_line("Qwen/Qwen3-8B", 1, native=False)
    assert "--tool-call-parser" not in plain
    own = ENGINE.command_line("Qwen/Qwen3-8B", 1, native=True, extra=["--tool-call-parser=mine", "--host", "::1"])
    assert own.count("--host") == 1
    assert "hermes" not in own
    assert "127.0.0.1" not in own


def test_a_crash_at_the_start_shows_the_end_of_the_log(started: Started, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ended with code 1 before it was ready") as caught:
        started(tmp_path, "--crash").wait_until_ready(stall_s=20)
    assert "ValueError: the stub cannot load this model" in str(caught.value)
    assert str(tmp_path / "vllm.log") in str(caught.value)


@pytest.mark.slow
def test_an_engine_that_shows_no_sign_of_life_is_given_up(started: Started, tmp_path: Path) -> None:
    engine = started(tmp_path, "--silent-s", "60")
    begun = time.monotonic()
    with pytest.raises(UsageError, match="no sign of life for 1 s"):
        engine.wait_until_ready(stall_s=1)
    assert time.monotonic() - begun < patience(10)


@pytest.mark.slow
def test_an_engine_that_loads_slowly_is_waited_for(started: Started, tmp_path: Path) -> None:
    engine = started(tmp_path, "--load-s", "2.5")
    assert engine.wait_until_ready(stall_s=1.2) > 2


def test_a_port_in_use_is_said_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} is in use"):
            start_engine(ENGINE, "m", tmp_path, extra=["--port", str(port)])
    assert not list(tmp_path.iterdir())


def test_what_is_not_installed_is_said_with_the_command(tmp_path: Path) -> None:
    missing = dataclasses.replace(ENGINE, program=lambda: None)
    with pytest.raises(
        UsageError, match=r'vLLM is not installed where this runs \(pip install "pytest-bfcl\[serve\]"\)'
    ):
        start_engine(missing, "m", tmp_path)


def test_two_engines_of_a_kind_have_ports_and_logs_of_their_own(started: Started, tmp_path: Path) -> None:
    one, two = started(tmp_path), started(tmp_path)
    assert one.base_url != two.base_url
    assert [one.log.name, two.log.name] == ["vllm.log", "vllm-2.log"]


@pytest.mark.slow
def test_the_engine_and_its_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import dataclasses, sys, time
        from pathlib import Path
        from pytest_bfcl.extensions.serving.process import start_engine
        from pytest_bfcl.extensions.serving.table import ENGINES
        engine = dataclasses.replace(ENGINES["vllm"], program=lambda: [sys.executable, {str(STUB)!r}])
        folder = Path({str(tmp_path)!r})
        running = start_engine(engine, "m", folder, extra=["--worker-file", str(folder / "pids")])
        running.wait_until_ready(stall_s=20)
        print("ready", flush=True)
        time.sleep(60)
    """)
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "ready\n"
    pids = [int(text) for text in (tmp_path / "pids").read_text().split()]
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    deadline = time.monotonic() + 15
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))
