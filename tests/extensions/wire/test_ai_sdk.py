"""The npm package `ai` reads the bytes of the reference server as our readers do.

Needs node and a folder with ``npm install ai @ai-sdk/openai-compatible @ai-sdk/openai @ai-sdk/anthropic``.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.wire.checks.sdks import own_reading, requests
from pytest_bfcl.extensions.wire.probe import DIALECTS, Conduct, Line, Probe
from pytest_bfcl.extensions.wire.replies import CALLS, LENGTH, STOP, Reply
from pytest_bfcl.extensions.wire.row import Api
from tests.extensions.wire.reference import Direct, Reference

FOLDER = os.environ.get("PYTEST_BFCL_AI_SDK", "")
WORDS = {"tool-calls": CALLS, "stop": STOP, "length": LENGTH}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not FOLDER or shutil.which("node") is None, reason="PYTEST_BFCL_AI_SDK names no folder with the package ai"
    ),
]


def recorded(api: Api, size: int) -> list[Reply]:
    async def work() -> list[Reply]:
        line = Line(Direct(Reference(size=size)), DIALECTS[api](), "m", Conduct())
        probe = Probe(line, "ai", 0)
        return [await probe.reply(request, stream=stream) for request in requests(probe) for stream in (False, True)]

    return asyncio.run(work())


def read_by_ai(api: Api, replies: list[Reply]) -> list[dict[str, Any]]:
    lines = [
        json.dumps({
            "api": api, "stream": reply.form == "streamed", "type": reply.exchange.content_type,
            "body": base64.b64encode(reply.exchange.received).decode(), "tools": ["save_note", "ping_server"],
        })
        for reply in replies
    ]  # fmt: skip
    script = str(Path(__file__).with_name("ai_reader.mjs"))
    done = subprocess.run(
        ["node", script, FOLDER], input="\n".join(lines), capture_output=True, text=True, timeout=300, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("size", [1, 3, 50])
@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
def test_it_reads_the_reference_as_we_do(api: Api, size: int) -> None:
    replies = recorded(api, size)
    for reply, theirs in zip(replies, read_by_ai(api, replies), strict=True):
        ours = own_reading(reply)
        assert "error" not in theirs, theirs
        assert [tuple(call) for call in theirs["calls"]] == list(ours.calls)
        assert (theirs["text"], WORDS.get(theirs["finish"])) == (ours.text, ours.finish), reply.form
