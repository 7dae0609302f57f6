"""Under xdist: every entry once, memory scenarios whole, crashes survived."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_bfcl.plugin.distribution import Distribution, WorkerEnd
from pytest_bfcl.plugin.session import Notices
from tests.patience import patience

from .conftest import Project, question, write_lines


@pytest.mark.slow
def test_a_crash_in_a_users_own_entry_has_its_category(project: Project) -> None:
    """A line may name another category than its id; the process that reports has not collected it."""
    project.pytester.makeconftest(
        """
        import os
        def pytest_runtest_call(item):
            if item.name == "mine_1":
                os._exit(9)
        """
    )
    lines = [{**question("simple_python_0"), "id": f"mine_{n}", "category": "irrelevance"} for n in range(3)]
    for line in lines:
        line.pop("possible_answer", None)
        line.pop("ground_truth", None)
    write_lines(project.path / "mine.jsonl", lines)
    project.run("mine.jsonl", "--dist=load", "--tx=2*popen", "-p", "no:asyncio")
    by_id = {record["id"]: record for record in project.records()}
    assert {record["category"] for record in by_id.values()} == {"irrelevance"}
    assert by_id["mine_1"]["reason"] == "harness:worker_crash"


def test_workers_tell_of_replies_and_speak_over_one_channel() -> None:
    heard: list[object] = []
    notices = SimpleNamespace(say=heard.append)
    run = SimpleNamespace(on_answer=heard.append)
    distribution = Distribution(SimpleNamespace(notices=notices), run, None, None, None)  # type: ignore[arg-type]
    channel = SimpleNamespace(send=lambda told: distribution._on_message(channel, told), setcallback=lambda end: None)
    worker = WorkerEnd(channel, None)  # type: ignore[arg-type]
    worker.answered({"event": "answered"})  # type: ignore[typeddict-item]
    channel.send("the server is down")
    run.on_answer = None  # no sink listens
    worker.answered({"event": "answered"})  # type: ignore[typeddict-item]
    assert heard == [{"event": "answered"}, "the server is down"]


def command(folder: Path, *more: str) -> list[str]:
    entries = [
        {"id": f"irrelevance_{number}", "question": [[{"role": "user", "content": f"Hello {number}"}]], "function": []}
        for number in range(12)
    ]
    folder.joinpath("own.jsonl").write_text("".join(json.dumps(each) + "\n" for each in entries), encoding="utf-8")
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:asyncio", "own.jsonl", *more]


@pytest.mark.parametrize(("more", "begins"), [((), "collected "), (("-n2",), "2 workers [")])
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
            if line.startswith("bfcl: no server listens at http://127.0.0.1:9/v1, trying again"):
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
