"""A server this project did not write: litellm's proxy with mocked replies, asked over HTTP as a user would.

The proxy is no dependency of ours. The test runs where ``litellm[proxy]`` is installed, or with
``PYTEST_BFCL_LITELLM_PROXY`` naming the ``litellm`` executable of another environment; otherwise it is skipped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CALL = {"id": "call_1", "type": "function", "function": {"name": "scale_recipe", "arguments": ""}}
ARGUMENTS = {"recipe": "lentil soup", "portions": 6}
TEXT = "[scale_recipe(recipe='lentil soup', portions=6)]"


def executable() -> str:
    """The proxy's console script."""
    named = os.environ.get("PYTEST_BFCL_LITELLM_PROXY")
    if named:
        return named
    found = shutil.which("litellm", path=str(Path(sys.executable).parent))
    if found is None or not all(map(importlib.util.find_spec, ("fastapi", "uvicorn", "backoff", "orjson"))):
        pytest.skip("litellm's proxy is not installed (litellm[proxy], or PYTEST_BFCL_LITELLM_PROXY)")
    return found


@contextmanager
def proxied(folder: Path, models: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Base URL of a running proxy; name of a model → its parameters."""
    program = executable()
    rows = [{"model_name": name, "litellm_params": {"api_key": "none", **each}} for name, each in models.items()]
    (folder / "config.yaml").write_text(json.dumps({"model_list": rows}))  # JSON is YAML
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    }
    command = [program, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait(f"http://127.0.0.1:{port}/health/liveliness", server, folder / "log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The models ``calls`` (one native call) and ``text`` (the same call as text)."""
    call = {**CALL, "function": {**CALL["function"], "arguments": json.dumps(ARGUMENTS)}}
    calls = {"model": "openai/calls", "mock_tool_calls": [call], "mock_response": ""}
    text = {"model": "openai/text", "mock_response": TEXT}
    with proxied(tmp_path_factory.mktemp("proxy"), {"calls": calls, "text": text}) as url:
        yield url


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"the proxy did not start: {log.read_text()[-2000:]}")


@pytest.mark.parametrize(("model", "mode"), [("calls", "fc"), ("text", "prompt")])
def test_the_bundled_entries_over_the_proxy(proxy: str, model: str, mode: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", "single_turn"]
    command += ["--model", f"openai:{model}@{mode}", "--bfcl-base-url", proxy, "--bfcl-data", "bundled"]
    environment = os.environ | {"OPENAI_API_KEY": "any"}
    done = subprocess.run(
        [*command, "--bfcl-out", "run"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    records = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert {record["mode"] for record in records} == {mode}
    assert Counter(record["outcome"] for record in records)["error"] == 0
    assert all(record["input_tokens"] > 0 and record["latency_s"] > 0 for record in records)
    passed = {record["id"] for record in records if record["outcome"] == "passed"}
    relevant = {record["id"] for record in records if record["category"] == "live_relevance"}
    # The mocked call is right for one entry, and any call is right where the question is only whether to call.
    assert passed == {"simple_python_0"} | relevant
    reasons = {record["reason"] for record in records if "irrelevance" in record["category"]}
    assert reasons == {"irrelevance_error:decoder_success"}
