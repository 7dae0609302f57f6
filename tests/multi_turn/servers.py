"""The benchmark's mock server as a process: an endpoint that answers from the ground truth."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@contextmanager
def mock_server(official_dir: Path, *flags: str) -> Iterator[str]:
    """Its base URL while it runs; skips without the tool (``PYTEST_BFCL_MOCK_SERVER``, or beside the repository)."""
    named = os.environ.get("PYTEST_BFCL_MOCK_SERVER")
    script = Path(named) if named else REPOSITORY.parent / "shared" / "tools" / "mock_server.py"
    data = next((path.parent for path in sorted(official_dir.rglob("BFCL_v4_multi_turn_base.json"))), None)
    if not script.is_file() or data is None:
        pytest.skip("no mock server, or no official data in its layout")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(script), "--data", str(data), "--port", str(port), *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _wait(url: str) -> None:
    for _ in range(300):
        try:
            httpx.get(f"{url}/health", timeout=1)
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    pytest.skip("the mock server does not start")
