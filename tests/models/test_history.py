"""What goes back with the second request, byte for byte: chat, Responses, Anthropic's messages; three policies."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from aiohttp import web

from pytest_bfcl.answers import read_completion
from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.models import create_model
from pytest_bfcl.models.chat import dialect_of, remembered
from pytest_bfcl.models.probing import probe_request
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
RESULT = '{"count": 2}'


def second_request(api, tmp_path=None, **settings):
    """The body of the second request of a conversation; with a path, the first reply comes out of a journal."""
    bodies: list[bytes] = []

    async def handler(req: web.Request) -> web.StreamResponse:
        bodies.append(await req.read())
        again = tmp_path is not None and len(bodies) > 2
        return web.json_response(DONE if len(bodies) == 2 or again else FIRST[api])

    async def work() -> None:
        async with serving(handler) as url:
            chosen = Settings(base_url=url, api=api, retries=0, **settings)
            model = create_model("openai:m@fc", chosen)
            journal = Journal(tmp_path) if tmp_path is not None else None
            try:
                await converse(shelf_entry(), model, settings=chosen, texts=TEXTS, journal=journal)
            finally:
                await model.aclose()
                if journal is not None:
                    journal.close()

    run(work())
    return json.loads(bodies[1])


def test_chat_by_default():
    body = second_request("chat")
    first, heard, result = body["messages"]
    assert first["role"] == "user"
    assert heard == {name: value for name, value in CHAT["choices"][0]["message"].items() if name != "refusal"}
    assert result == {"role": "tool", "tool_call_id": LONG, "content": RESULT}


def test_chat_keeps_signatures_when_reasoning_is_dropped():
    heard = second_request("chat", reasoning="drop")["messages"][1]
    assert "reasoning_content" not in heard
    assert heard["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "c2ln"}}


def test_responses_by_default():
    body = second_request("responses")
    assert body["input"][1:] == [*ITEMS, {"type": "function_call_output", "call_id": LONG, "output": RESULT}]
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["store"] is False
    assert "messages" not in body


def test_responses_without_reasoning_have_no_ids_that_ask_for_it():
    body = second_request("responses", reasoning="drop")
    assert body["input"][1] == {name: value for name, value in ITEMS[1].items() if name != "id"}


def test_messages_by_default():
    body = second_request("anthropic")
    user, heard, result = body["messages"]
    assert heard == {"role": "assistant", "content": BLOCKS}
    assert result["content"][0]["tool_use_id"] == LONG
    assert user["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert body["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert body["max_tokens"] == 64_000


def test_messages_without_thinking():
    heard = second_request("anthropic", reasoning="drop")["messages"][1]
    assert heard["content"] == BLOCKS[2:]


@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
def test_a_continued_run_sends_the_same(api, tmp_path):
    """The first reply then comes from the journal: its state survives there."""
    asked = second_request(api)
    (tmp_path / "a").mkdir()
    first = second_request(api, tmp_path / "a")
    (path,) = (tmp_path / "a").glob("*.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(lines[0], encoding="utf-8")  # killed after the first reply
    bodies: list[bytes] = []

    async def handler(req: web.Request) -> web.StreamResponse:
        bodies.append(await req.read())
        return web.json_response(DONE)

    async def work() -> None:
        async with serving(handler) as url:
            chosen = Settings(base_url=url, api=api, retries=0)
            model = create_model("openai:m@fc", chosen)
            with Journal(tmp_path / "a", "again") as journal:
                await converse(shelf_entry(), model, settings=chosen, texts=TEXTS, journal=journal)
            await model.aclose()

    run(work())
    assert len(bodies) == 1
    assert json.loads(bodies[0]) == asked == first


@pytest.mark.parametrize(
    ("provider", "url", "name"),
    [("openai", "https://api.deepseek.com/v1", "deepseek"), ("xai", "", "grok"), ("openai", "", "generic"),
     ("openai", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen"), ("deepseek", "", "deepseek")],
)  # fmt: skip
def test_dialects_are_found_by_provider_or_host(provider, url, name):
    assert dialect_of(provider, url).name == name


def test_a_policy_goes_before_the_dialect():
    reply, message = read_completion(CHAT), {"role": "assistant", "content": None}
    deepseek = dialect_of("deepseek")
    assert "reasoning_content" not in remembered(reply, message, deepseek)
    assert remembered(reply, message, deepseek, "keep")["reasoning_content"] == "I think"
    assert "reasoning_content" not in remembered(reply, message, dialect_of("openai"), "drop")


def test_a_key_that_comes_back_in_a_field_is_hidden(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-private-0123456789")

    async def echo(req: web.Request) -> web.StreamResponse:
        message = {"content": "hi", "debug": {"headers": [req.headers["authorization"]]}}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}]})

    async def work():
        async with serving(echo) as url:
            model = create_model("openai:m@fc", Settings(base_url=url, retries=0))
            reply = await model.generate(probe_request())
            await model.aclose()
            return reply

    state = run(work()).state
    assert state.fields == {"debug": {"headers": ["Bearer [hidden]"]}}


@pytest.mark.parametrize("value", ["x" * 3_000_000, json.loads("[" * 300 + "]" * 300)])
def test_what_no_file_could_hold_is_let_go(value):
    message = {"content": "hi", "extra": value}
    reply = read_completion({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (reply.text, reply.state) == ("hi", None)


def test_models_of_openais_that_reason_are_sent_no_temperature():
    settings = Settings(api="responses", base_url="http://localhost:1/v1")
    plain, asked = (create_model("openai:gpt-5-mini@fc", each) for each in (
        settings, replace(settings, parameters={"temperature": 1}),
    ))  # fmt: skip
    question = probe_request(settings.sent_parameters())
    assert "temperature" not in plain.payload(question)
    assert plain.payload(question)["reasoning"] == {"summary": "auto"}
    assert len(plain.notes) == 1
    assert asked.payload(probe_request({"temperature": 1}))["temperature"] == 1
    assert not asked.notes
    other = create_model("openai:gpt-4.1@fc", settings).payload(question)
    assert other["temperature"] == 0.001
    assert "include" not in other
