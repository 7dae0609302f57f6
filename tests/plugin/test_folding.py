"""Errors alike are told once in the terminal; a dead server is told while it is being retried."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_bfcl.plugin.session import Notices
from tests.patience import patience


def command(folder: Path, *more: str) -> list[str]:
    entries = [
        {"id": f"irrelevance_{number}", "question": [[{"role": "user", "content": f"Hello {number}"}]], "function": []}
        for number in range(12)
    ]
    folder.joinpath("own.jsonl").write_text("".join(json.dumps(each) + "\n" for each in entries), encoding="utf-8")
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:asyncio", "own.jsonl", *more]


@pytest.mark.parametrize("more", [(), pytest.param(("-n1",), marks=pytest.mark.slow)])
def test_errors_alike_are_told_once(tmp_path: Path, more: tuple[str, ...]) -> None:
    script: dict[str, object] = {
        f"irrelevance_{number}": {"error": "bad_request", "message": f"no such field in irrelevance_{number}"}
        for number in range(1, 11)
    }
    script |= {"irrelevance_0": "Hello", "irrelevance_11": {"error": "bad_request", "message": "quite another"}}
    tmp_path.joinpath("script.json").write_text(json.dumps(script), encoding="utf-8")
    asked = command(
        tmp_path, "--model", "scripted:script.json", "--bfcl-out", "run", "-q", "--bfcl-concurrency=1", *more
    )
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.count("no such field") == 1, done.stdout
    assert done.stdout.count("10 entries ended with this error: this one, ") == 1
    assert done.stdout.count("quite another") == 1
    assert "11 errors" in done.stdout
    lines = tmp_path.joinpath("run", "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 12


@pytest.mark.parametrize(
    ("more", "begins"), [((), "collected "), pytest.param(("-n2",), "2 workers [", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_a_dead_server_is_said_once_while_it_is_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], begins: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    asked = command(tmp_path, "--model", "openai:m@fc", "--bfcl-base-url", "http://127.0.0.1:9/v1", "--bfcl-out", "run")
    asked += ["--bfcl-retries=3", "--color=no", *more]
    with subprocess.Popen(asked, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        begun: float | None = None
        said: list[float] = []
        for line in process.stdout:
            if begins in line:
                begun = time.monotonic()
            if line.startswith("bfcl: http://127.0.0.1:9/v1 cannot be reached, trying again"):
                assert begun is not None
                said.append(time.monotonic() - begun)
                assert process.poll() is None  # it is still being retried
                threading.Timer(1.5, process.kill).start()  # by then the other worker has found out, too
    assert len(said) == 1
    assert said[0] < patience(3)


def test_what_workers_say_is_printed_once_by_the_controller(pytestconfig: pytest.Config) -> None:
    sent: list[str] = []
    channel = SimpleNamespace(send=sent.append)
    worker = Notices(pytestconfig, channel)
    for attempts in (20, 21):
        worker.say(f"http://127.0.0.1:9/v1 fails every request ({attempts} of the last {attempts})")
    assert sent == ["http://127.0.0.1:9/v1 fails every request (20 of the last 20)"]
    channel.send = _gone
    worker.say("another line")  # the controller was killed: the worker's own end is not hidden by that


def _gone(text: str) -> None:
    raise OSError("cannot send (already closed?)")
