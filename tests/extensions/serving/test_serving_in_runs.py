"""``--bfcl-serve`` and models that only their server can name, as a user runs them."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pytest_bfcl.cli import main
from tests.distributed import WORKERS
from tests.extensions.serving.processes import alive
from tests.models.loopback import completion, in_thread

STUB = Path(__file__).with_name("stub_engine.py")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="engines are started on POSIX systems only")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a few entries and a stand-in for the `vllm` program on its path."""
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "vllm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STUB} "$@"\n')
    program.chmod(0o755)
    entries = [
        {
            "id": f"irrelevance_{number}", "question": [[{"role": "user", "content": f"What is {number} plus one?"}]],
            "function": [{"name": "sail", "description": "Sets a sail.", "parameters": {
                "type": "dict", "properties": {"name": {"type": "string"}}, "required": ["name"]}}],
        }
        for number in range(8)
    ]  # fmt: skip
    (tmp_path / "irrelevance.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return tmp_path


PYTEST = ("pytest", "-p", "no:cacheprovider", "irrelevance.jsonl", "--bfcl-out=run")
VERB = ("pytest_bfcl", "run", "irrelevance.jsonl", "-o", "run")


def _environment(project: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{project / 'programs'}{os.pathsep}{os.environ['PATH']}"}


def _started(project: Path, *words: str, **how: Any) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", *words], cwd=project, env=_environment(project), **pipes | how)


def _done(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    with _started(project, *words) as process:
        told, errors = process.communicate(timeout=120)
    return subprocess.CompletedProcess(words, process.returncode, told, errors)


def _lines(project: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (project / "run/results.jsonl").read_text().splitlines()]


def _check_served(project: Path, done: subprocess.CompletedProcess[str], pids: Path) -> None:
    """The engine was started once and answered everything; none of its processes is left."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("starting: ") == 1
    assert "vllm:Qwen/Qwen3-8B is ready after" in done.stdout
    assert [line["outcome"] for line in _lines(project)] == ["passed"] * 8
    assert {line["model"] for line in _lines(project)} == {"vllm:Qwen/Qwen3-8B@fc"}
    assert "--tool-call-parser hermes" in (project / "run/engines/vllm.log").read_text()
    assert not any(alive(int(pid)) for pid in pids.read_text().split())


@pytest.mark.parametrize("workers", WORKERS)
def test_an_engine_is_started_once_asked_and_ended(project: Path, workers: tuple[str, ...]) -> None:
    pids = project / "pids"
    model = ("--model", "vllm:Qwen/Qwen3-8B@fc", "--bfcl-serve", f"--bfcl-serve-args=--worker-file {pids}")
    done = _done(project, *PYTEST, *model, *workers)
    _check_served(project, done, pids)


@pytest.mark.slow
def test_the_verb_starts_asks_and_ends_an_engine(project: Path) -> None:
    pids = project / "pids"
    words = ["--model", "vllm:Qwen/Qwen3-8B@fc", "--serve", f"--serve-args=--worker-file {pids}"]
    dry = _done(project, *VERB, *words, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert not (project / "run").exists()
    done = _done(project, *VERB, *words, "--fail-under", "irrelevance=100")
    _check_served(project, done, pids)
    again = _done(project, *VERB, *words, "--fail-under", "irrelevance=100")  # nothing is left to ask
    assert (again.returncode, "starting: " in again.stdout) == (0, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said", "runs"),
    [
        (("--serve-args=--crash",), "vLLM ended with code 1 before it was ready; its log ends with", True),
        (("--serve-args=--crash-after 3", "--mode", "fc", "--concurrency", "1", "--retries", "1"),
         "ended with code 9 while it was asked", True),
        (("--ray", "10.0.0.1:6379"), "which a cluster may not reach", False),
    ],
)  # fmt: skip
def test_engines_of_the_verb_that_do_not_start_or_end(
    project: Path, words: tuple[str, ...], said: str, runs: bool
) -> None:
    done = _done(project, *VERB, "--model", "vllm:m", "--serve", *words)
    assert done.returncode == 2
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert (project / "run").exists() is runs


@pytest.mark.slow
def test_ctrl_c_while_the_verb_waits_for_an_engine_ends_it(project: Path) -> None:
    pids = project / "pids"
    words = ("--model", "vllm:m@fc", "--serve", f"--serve-args=--load-s 60 --worker-file {pids}")
    usual = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a suite in the background ignores it
    with _started(project, *VERB, *words, stderr=subprocess.STDOUT, preexec_fn=usual) as verb:
        deadline = time.monotonic() + 30
        while not (pids.exists() and pids.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.05)
        verb.send_signal(signal.SIGINT)
        said, _ = verb.communicate(timeout=30)
    assert verb.returncode == 2, said
    assert "stopped: interrupted" in said
    assert "Traceback" not in said
    assert json.loads((project / "run" / "run.json").read_text())["state"] == "stopped:interrupted"
    assert not any(alive(int(pid)) for pid in pids.read_text().split())


MISTAKES = [
    (("--model", "openai:gpt-4o"), "--bfcl-serve starts vllm, sglang, llamacpp, transformers, ollama"),
    (("--model", "vllm:"), "which model? write --model vllm:PATH_OR_NAME"),
    (("--model", "vllm:m", "--base-url", "http://localhost:1/v1"), "give one of them"),
    (("--model", "vllm:m", "--serve-args='"), "cannot be split into arguments"),
    (("--model", "sglang:m"), "SGLang is not installed where this runs"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES)
def test_mistakes_are_said_before_anything_starts(
    project: Path,
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", _environment(project)["PATH"])
    assert main(["run", "irrelevance.jsonl", "-o", "run", *arguments, "--serve"]) == 2
    assert said in capsys.readouterr().err
    assert not (project / "run").exists()


@pytest.mark.slow
def test_nothing_is_started_for_a_dry_run_or_a_listing(project: Path) -> None:
    for option in ("--bfcl-dry-run", "--collect-only"):
        done = _done(project, *PYTEST, "--model", "vllm:m@fc", "--bfcl-serve", option)
        assert "starting: " not in done.stdout
        assert not (project / "run/engines").exists()


@pytest.fixture
def running() -> Iterator[str]:
    """The base URL of a server that runs already and serves one model; it answers every question with a text."""

    async def answer(request: web.Request) -> web.Response:
        if request.method == "GET":
            return web.json_response({"object": "list", "data": [{"id": "Qwen/Qwen3-8B", "object": "model"}]})
        return web.json_response(completion({"content": "I cannot help with that."}))

    with in_thread(answer) as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "provider"), [("vllm:", "vllm"), ("auto:", "openai")])
def test_a_running_server_names_its_model(project: Path, running: str, spec: str, provider: str) -> None:
    done = _done(project, *PYTEST, "--model", spec, "--bfcl-base-url", running, "--bfcl-mode", "fc")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line["model"] for line in _lines(project)} == {f"{provider}:Qwen/Qwen3-8B@fc"}
    lines = len(_lines(project))
    assert _done(project, *VERB, "--model", spec, "--base-url", running, "--mode", "fc").returncode == 0
    assert len(_lines(project)) == lines  # the same model: the plugin's run is finished
