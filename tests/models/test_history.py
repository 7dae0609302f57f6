"""What goes back with the second request, byte for byte: chat, Responses, Anthropic's messages; three policies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiohttp import web

from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.models import create_model
from pytest_bfcl.models.chat import Dialect, dialect_of
from pytest_bfcl.runs.journal import Journal
from pytest_bfcl.settings import Settings
from tests.conversation.worlds import TEXTS, shelf_entry
from tests.models.loopback import run, serving

LONG = "call_" + "s" * 595
ARGUMENTS = '{"title":"Émma"}'

CHAT = {
    "choices": [{
        "message": {
            "role": "assistant", "content": None, "reasoning_content": "I think", "refusal": None,
            "tool_calls": [{
                "id": LONG, "type": "function", "function": {"name": "add_book", "arguments": ARGUMENTS},
                "extra_content": {"google": {"thought_signature": "c2ln"}},
            }],
        },
        "finish_reason": "tool_calls",
    }],
}  # fmt: skip
ITEMS = [
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA=="},
    {"id": "fc_1", "type": "function_call", "call_id": LONG, "name": "add_book", "arguments": ARGUMENTS,
     "status": "completed"},
]  # fmt: skip
BLOCKS = [
    {"type": "thinking", "thinking": "I think", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "x"},
    {"type": "tool_use", "id": LONG, "name": "add_book", "input": {"title": "Émma"}},
]
DONE = {
    "choices": [{"message": {"role": "assistant", "content": "done"}, "finish_reason": "stop"}],
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}],
    "status": "completed", "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn",
}  # fmt: skip
FIRST = {"chat": CHAT, "responses": {"output": ITEMS, "status": "completed"},
         "anthropic": {"content": BLOCKS, "stop_reason": "tool_use"}}  # fmt: skip


def bodies_of(api, journal, *answers, **settings):
    """The bodies of a conversation's requests, which a server gives these answers in turn."""
    bodies = []

    async def handler(req: web.Request) -> web.StreamResponse:
        bodies.append(await req.json())
        return web.json_response(answers[len(bodies) - 1])

    async def work() -> None:
        async with serving(handler) as url:
            chosen = Settings(base_url=url, api=api, retries=0, **settings)
            model = create_model("openai:m@fc", chosen)
            await converse(shelf_entry(), model, settings=chosen, texts=TEXTS, journal=journal)
            await model.aclose()

    run(work())
    return bodies


@pytest.mark.parametrize("api", FIRST)
def test_a_continued_run_sends_the_same(api, tmp_path):
    """The first reply then comes from the journal: its state survives there."""
    with Journal(tmp_path) as journal:
        _, asked = bodies_of(api, journal, FIRST[api], DONE)
    (path,) = tmp_path.glob("*.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(lines[0], encoding="utf-8")  # killed after the first reply
    with Journal(tmp_path, "again") as journal:
        assert bodies_of(api, journal, DONE) == [asked]


@pytest.mark.parametrize(
    ("provider", "url", "dialect"),
    [
        ("openai", "", Dialect("generic")), ("xai", "", Dialect("grok", echo=False)),
        ("x", "http://api.x.ai/v1", Dialect("grok", echo=False)),
        ("openai", "https://api.deepseek.com/v1", Dialect("deepseek", echo=False, join_users=True)),
        ("openai", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", Dialect("qwen", null_content=True)),
        ("novita", "", Dialect("novita", folded=True)), ("nvidia_nim", "", Dialect("nvidia", join_users=True)),
    ],
)  # fmt: skip
def test_dialects_are_found_by_provider_or_host(provider, url, dialect):
    assert replace(dialect_of(provider, url), providers=(), hosts=()) == dialect
