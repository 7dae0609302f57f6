"""The openai adapter against the benchmark's mock server, faults included, where both exist."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from pytest_bfcl.checkers import judge
from pytest_bfcl.conversation import converse
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import create_model
from pytest_bfcl.models.base import Request
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Step, Transcript, Turn
from tests.models.loopback import run

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mock_server(official_dir):
    """Its base URL; needs ``PYTEST_BFCL_MOCK_SERVER`` or the tool beside the repository."""
    script = Path(
        os.environ.get("PYTEST_BFCL_MOCK_SERVER") or REPOSITORY.parent / "shared" / "tools" / "mock_server.py"
    )
    if not script.is_file():
        pytest.skip("no mock server")
    data = next(
        (p.parent for p in sorted(official_dir.rglob("BFCL_v4_simple_python.json")) if "answer" not in str(p)), None
    )
    if data is None:
        pytest.skip("the official data is not laid out for the mock server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(script), "--data", str(data), "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                httpx.get(f"{url}/health", timeout=1)
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        else:
            pytest.skip("the mock server does not start")
        yield url
    finally:
        process.terminate()
        process.wait(10)


def configure(url, **flags):
    httpx.post(f"{url}/config", json=flags, timeout=5).raise_for_status()


def answers(url, official, category, count, mode="fc", **settings):
    """Verdicts or errors of the first entries of a category."""
    entries = [official.load(ref) for ref in official.index(category)[:count]]

    async def work():
        model = create_model(f"openai:bench@{mode}", Settings(base_url=f"{url}/v1", **settings))
        try:
            requests = [model.generate(Request(e, list(e.question[0]), list(e.function))) for e in entries]
            return await asyncio.gather(*requests, return_exceptions=True)
        finally:
            await model.aclose()

    results = []
    for entry, reply in zip(entries, run(work()), strict=True):
        if isinstance(reply, BaseException):
            results.append(reply)
        else:
            turns = [Turn(steps=[Step(reply)])]
            results.append(judge(entry, Transcript(entry.id, category, "m", mode, underscore_names=True, turns=turns)))
    return results


@pytest.mark.parametrize("category", ["simple_python", "parallel_multiple", "live_simple", "irrelevance"])
def test_right_answers_arrive(mock_server, official, category):
    results = answers(mock_server, official, category, 12)
    assert all(verdict.valid for verdict in results), results


def test_passing_faults_cost_attempts_not_answers(mock_server, official):
    configure(mock_server, fail_rate=0.2, truncate_rate=0.1, reset_rate=0.1, empty_rate=0.1)
    try:
        results = answers(mock_server, official, "simple_python", 30, retries=12)
    finally:
        configure(mock_server, fail_rate=0, truncate_rate=0, reset_rate=0, empty_rate=0)
    assert all(not isinstance(r, BaseException) and r.valid for r in results), results


def test_lasting_faults_are_errors_of_those_entries(mock_server, official):
    configure(mock_server, fail_rate=0.3, fault_scope="entry")
    try:
        results = answers(mock_server, official, "simple_python", 20, retries=1)
    finally:
        configure(mock_server, fail_rate=0, fault_scope="request")
    errors = [r for r in results if isinstance(r, BaseException)]
    assert 0 < len(errors) < 20
    assert all(isinstance(e, AdapterError) and e.kind == "server" for e in errors)
    assert all(r.valid for r in results if not isinstance(r, BaseException))


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_comes_back_unchanged(mock_server, official, api, stream):
    """The server answers 400 when reasoning, a signature, an encrypted item or an id of 600 characters is missing."""
    modes = "field,signature" if api == "chat" else "responses_item"
    configure(mock_server, reasoning=modes, require_reasoning=True)
    httpx.post(f"{mock_server}/reset", timeout=5).raise_for_status()
    try:
        entries = [official.load(ref) for ref in official.index("multi_turn_base")[:6]]
        settings = Settings(base_url=f"{mock_server}/v1", api=api, stream=stream)
        verdicts = run(conversations(entries, settings, official.texts))
        told = httpx.get(f"{mock_server}/stats", timeout=5).json()["reasoning"]
    finally:
        configure(mock_server, reasoning="", require_reasoning=False)
    assert all(verdict.valid for verdict in verdicts), verdicts
    assert told["returned"] > 30
    assert (told["missing"], told["changed"]) == (0, 0)


def test_dropped_reasoning_is_missed_there(mock_server, official):
    configure(mock_server, reasoning="field", require_reasoning=True)
    try:
        entries = [official.load(ref) for ref in official.index("multi_turn_base")[:1]]
        settings = Settings(base_url=f"{mock_server}/v1", reasoning="drop")
        with pytest.raises(AdapterError, match="reasoning_content is missing"):
            run(conversations(entries, settings, official.texts))
    finally:
        configure(mock_server, reasoning="", require_reasoning=False)


@pytest.mark.parametrize("api", ["chat", pytest.param("responses", marks=pytest.mark.slow)])
def test_broken_streams_cost_attempts_not_answers(mock_server, official, api):
    configure(mock_server, cut_rate=0.15, eof_rate=0.15, reset_rate=0.05)
    try:
        results = answers(mock_server, official, "simple_python", 30, retries=12, api=api, stream=True)
    finally:
        configure(mock_server, cut_rate=0, eof_rate=0, reset_rate=0)
    assert all(not isinstance(r, BaseException) and r.valid for r in results), results


@pytest.mark.parametrize("category", ["simple_python", "parallel_multiple", "live_multiple", "irrelevance"])
def test_a_streamed_reply_is_the_reply(mock_server, official, category):
    for api in ("chat", "responses"):
        plain = answers(mock_server, official, category, 20, api=api)
        assert answers(mock_server, official, category, 20, api=api, stream=True) == plain


async def conversations(entries, settings, texts):
    """Verdicts of whole conversations."""
    model = create_model("openai:bench@fc", settings)
    try:
        held = [converse(entry, model, settings=settings, texts=texts) for entry in entries]
        transcripts = await asyncio.gather(*held)
    finally:
        await model.aclose()
    return [judge(entry, transcript) for entry, transcript in zip(entries, transcripts, strict=True)]
