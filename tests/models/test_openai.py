"""The OpenAI-compatible adapter against a real server: what it sends, what it reads, how it adapts."""

from __future__ import annotations

import asyncio
import json
import socket
from types import SimpleNamespace

import pytest
from aiohttp import web

from pytest_bfcl.endpoints.retrying import RetryPolicy
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import ToolsRefused, create_model, parse_spec
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.chat import TEMPLATE_VARIABLES, Chat
from pytest_bfcl.models.endpoint import Answer
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.settings import Settings
from tests.models.asking import KEY, answering, ask, model_at
from tests.models.loopback import CLOCK, WEATHER, Prompted, completion, request, run, serving


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_the_request_carries_tools_key_and_parameters():
    seen = {}

    async def handler(req):
        seen.update(await req.json(), _auth=req.headers["authorization"], _path=req.path)
        return web.json_response(completion({"content": "hi"}))

    asked = request(WEATHER, parameters={"temperature": 0.5, "max_tokens": 64, "seed": None})
    asked.messages.append({"role": "assistant", "content": "a", "reasoning_content": "a thought", "_note": 1})
    ask(handler, asked)
    assert seen["_path"] == "/v1/chat/completions"
    assert seen["_auth"] == f"Bearer {KEY}"
    assert (seen["model"], seen["temperature"], seen["max_tokens"]) == ("m", 0.5, 64)
    assert "seed" not in seen
    tool = seen["tools"][0]["function"]
    assert tool["name"] == "weather_lookup"
    assert tool["parameters"]["properties"]["degrees"]["type"] == "number"
    assert seen["messages"] == [
        {"role": "user", "content": "How is the weather in Bern?"},
        {"role": "assistant", "content": "a", "reasoning_content": "a thought"},
    ]


# ------------------------------------------------------------------ what comes back


def test_text_usage_and_latency():
    async def handler(_):
        await asyncio.sleep(0.05)
        return web.json_response(completion({"content": "hello"}, prompt_tokens=3, completion_tokens=2))

    reply, model = ask(handler)
    assert model.server._session is None
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("hello", 3, 2)
    assert (reply.attempts, reply.finish_reason, reply.problem) == (1, "stop", None)
    assert 0.05 <= reply.latency_s < 1


def test_reasoning_models_are_asked_again_their_way():
    bodies = []

    async def picky(req):
        body = await req.json()
        bodies.append(body)
        if "max_tokens" in body:
            text = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return web.json_response({"error": {"message": text, "param": "max_tokens"}}, status=400)
        if "temperature" in body:
            text = "Unsupported value: 'temperature' does not support 0.001 with this model."
            return web.json_response({"error": {"message": text, "param": "temperature"}}, status=400)
        return web.json_response(completion({"content": "ok"}))

    async def work():
        async with serving(picky) as url:
            model = model_at(url)
            req = request(WEATHER, parameters={"temperature": 0.001, "max_tokens": 9})
            replies = [await model.generate(req), await model.generate(req)]
            await model.aclose()
            return replies, model

    replies, model = run(work())
    assert [reply.text for reply in replies] == ["ok", "ok"]
    assert len(bodies) == 4  # two lessons, then one request each
    assert bodies[-1]["max_completion_tokens"] == 9
    assert "temperature" not in bodies[-1]
    assert len(model.notes) == 2


def test_strict_servers_get_response_schemas_in_the_description():
    bodies = []

    async def strict(req):
        body = await req.json()
        bodies.append(body)
        if "response" in body["tools"][0]["function"]:
            detail = [{"type": "extra_forbidden", "loc": ["body", "tools", 0, "function", "response"]}]
            return web.json_response({"detail": detail}, status=422)
        return web.json_response(completion({"content": "ok"}))

    reply, model = ask(strict, request(WEATHER | {"response": {"type": "dict", "properties": {"sky": {}}}}))
    assert reply.text == "ok"
    assert len(bodies) == 2
    assert '"sky"' in bodies[1]["tools"][0]["function"]["description"]
    assert len(model.notes) == 1


# ------------------------------------------------------------------ keys


def test_keys_never_show():
    async def echo(req):
        text = f"bad key {req.headers['authorization']} and sk-other-abcdefghijklmnop " + "x" * 5000
        return web.json_response({"error": {"message": text}}, status=401)

    with pytest.raises(AdapterError) as caught:
        ask(echo)
    shown = f"{caught.value} {caught.value.advice} {caught.value.verdict} {caught.value!r}"
    assert KEY not in shown
    assert "abcdefghijklmnop" not in shown
    assert len(caught.value.message) < 700


# ------------------------------------------------------------------ the breaker


def test_a_new_loop_gets_new_connections():
    """Users' sessions may end one loop and begin another with the same model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
    model = None
    for _ in range(2):

        async def work():
            nonlocal model
            async with serving(answering(completion({"content": "ok"}))) as url:
                model = model or model_at(url)
                model.server.url = url
                return await model.generate(request(CLOCK))

        assert run(work()).text == "ok"


# ------------------------------------------------------------------ what is sent and learnt, without a server


def direct(spec="vllm:m@fc", **settings):
    return create_model(spec, Settings(base_url="http://localhost:1/v1", **settings))


def test_parameters_of_a_request():
    model = direct(parameters={"temperature": None})
    body = model.payload(request(WEATHER, parameters={"temperature": None, "top_k": 3, "model": None}))
    assert (body["top_k"], "temperature" in body, "model" in body) == (3, False, False)
    assert "stream" not in body
    streamed = direct(stream=True).payload(request(WEATHER))
    assert (streamed["stream"], streamed["stream_options"]) == (True, {"include_usage": True})
    responses = direct(api="responses").payload(request(WEATHER, parameters={"max_tokens": 7}))
    assert (responses["max_output_tokens"], "max_tokens" in responses) == (7, False)
    assert direct(api="responses")._renamed != direct()._renamed == {}
    assert (direct().underscore_names, direct("vllm:m@prompt").underscore_names) == (True, False)
    with pytest.raises(UsageError, match="has no name"):
        OpenAIModel(parse_spec("openai:"), Settings(), "fc")


def test_models_that_reason_are_noted_where_a_temperature_was_asked_for():
    asked = "openai:gpt-5@fc"
    assert len(direct(asked, api="responses").notes) == 1
    assert direct(asked, api="responses", temperature=None).notes == []
    assert direct(asked, api="responses", parameters={"temperature": 1}).notes == []
    assert direct(asked, api="chat").notes == []


class Templated(Chat):
    """An API whose prompts a family renders, which says itself whether names keep their dots."""

    def __init__(self, underscore_names):
        super().__init__()
        self.family = SimpleNamespace(format=SimpleNamespace(underscore_names=underscore_names))


@pytest.mark.parametrize(("mode", "says", "sent"), [("fc", True, True), ("fc", False, False), ("prompt", True, False)])
def test_a_familys_names_and_variables_of_its_template(mode, says, sent):
    model = OpenAIModel(parse_spec("vllm:m"), Settings(), mode, api=Templated(says))
    assert (model.underscore_names, direct().underscore_names) == (sent, True)
    asked = request(parameters={TEMPLATE_VARIABLES: {"think": False}, "top_k": 3})
    assert (TEMPLATE_VARIABLES in model.payload(asked), model.payload(asked)["top_k"]) == (False, 3)
    assert direct().payload(asked)[TEMPLATE_VARIABLES] == {"think": False}


@pytest.mark.parametrize("status", [200, 400])
def test_tools_are_refused_only_where_some_were_sent(status):
    refusal = answering({"error": {"message": "this model does not support tools", "code": 400}}, status)
    for mode, kind in (("fc", ToolsRefused), ("prompt", AdapterError)):
        with pytest.raises(AdapterError) as caught:
            ask(refusal, mode=mode, policy=RetryPolicy(0))
        assert type(caught.value) is kind


def test_a_page_is_told_as_one():
    with pytest.raises(AdapterError, match="answered with a page, not with JSON: Log in") as caught:
        ask(answering("<html><title>Log in</title></html>"), policy=RetryPolicy(0))
    assert caught.value.advice == "check the base URL (it usually ends in /v1)"


def test_where_tools_are_sent():
    prompts = OpenAIModel(parse_spec("vllm:m"), Settings(), "fc", api=Prompted())
    for model, tools in ((prompts, False), (direct("vllm:m@prompt"), False), (direct(), True)):
        assert ("tools" in model.payload(request(WEATHER)), "tools" in model.payload(request())) == (tools, False)


def test_events_that_nobody_asked_for_are_no_answer():
    events = b'data: {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}\n\n'
    for kind in ("text/event-stream", "text/plain"):
        with pytest.raises(AdapterError, match="is not JSON"):
            ask(answering(events, headers={"content-type": kind}), policy=RetryPolicy(0))


def several_turns(*functions):
    req = request(*functions)
    entry = req.entry.model_copy(update={"id": "multi_turn_base_0", "category": "multi_turn_base"})
    return Request(entry, req.messages, req.functions)


def test_bodies_are_the_payload_as_json():
    for spec, settings, req in (
        ("vllm:m@fc", {}, request(WEATHER, CLOCK)), ("vllm:m@prompt", {}, request(WEATHER)),
        ("vllm:m@fc", {}, request()),
        ("vllm:m@fc", {}, request(WEATHER, parameters={"tools": [1]})),
        ("vllm:m@fc", {"api": "anthropic"}, several_turns(WEATHER, CLOCK)),
        ("vllm:m@fc", {"api": "anthropic"}, request(WEATHER)),
        ("vllm:m@fc", {}, several_turns(WEATHER)),
    ):  # fmt: skip
        model = direct(spec, **settings)
        body = model.payload(req)
        assert json.loads(model._encoded(body, req)) == body
    assert "cache_control" not in str(direct().payload(several_turns(WEATHER)))
    marked = direct(api="anthropic").payload(several_turns(WEATHER, CLOCK))["tools"]
    assert ["cache_control" in tool for tool in marked] == [False, True]
    assert "cache_control" not in direct(api="anthropic").payload(request(WEATHER))["tools"][0]


BODY = {"temperature": 0.5, "max_tokens": 9, "store": False, "tools": [{"function": {"response": {}}}]}


@pytest.mark.parametrize(
    ("text", "learnt", "note"),
    [
        ("temperature is not supported", {"temperature"}, "the endpoint refuses temperature=0.5; sent without it"),
        ("unknown field store", {"store"}, "the endpoint refuses store; sent without it"),
        ("the temperature is too high", None, None),
        ("unknown field restored", None, None),
        ("unknown field include", None, None),
    ],
)
def test_what_is_learnt_from_a_refusal(text, learnt, note):
    model = direct()
    body = {name: value for name, value in BODY.items() if name != "tools"}
    assert model._adapt(text, body) is (learnt is not None)
    assert model._left_out == (learnt or set())
    assert model.notes == ([f"vllm:m@fc: {note}"] if note else [])
    assert model._adapt(text, body) is (learnt is not None)  # one that was on its way
    assert not learnt or not model._adapt(text, {name: 1 for name in body if name not in learnt})
    assert len(model.notes) == (1 if note else 0)


def test_what_the_user_asked_for_is_not_left_out():
    model = direct(parameters={"store": True, "temperature": 1})
    assert not model._adapt("unknown field store", BODY)
    assert model._adapt("temperature is not supported", BODY)


def test_limits_under_another_name():
    model, body = direct(), {"max_tokens": 9}
    assert not model._adapt("max_completion_tokens", {})
    assert model._adapt("use max_completion_tokens", body)
    assert model.payload(request(parameters={"max_tokens": 9}))["max_completion_tokens"] == 9
    assert model._adapt("max_tokens: use max_completion_tokens", body)  # asked before that was known
    assert not model._adapt("max_tokens is odd", body)
    assert len(model.notes) == 1


@pytest.mark.parametrize(
    ("api", "style"), [("chat", "folded"), ("responses", "folded_responses"), ("anthropic", "anthropic")]
)
def test_result_schemas_are_folded_once(api, style):
    model = direct(api=api)
    assert not model._adapt("no response here", {"tools": [{"function": {}}]})
    assert not model._adapt("no schema here", BODY)
    assert not model._adapt("no response here", {})
    assert model._adapt("no response here", {"tools": [{"response": {}}]})
    assert model._adapt("no response here", BODY)
    assert (model._tools.style, len(model.notes)) == (style, api != "anthropic")


def test_the_models_own_limit_of_a_reply():
    text = "max_tokens: 64000 > 4096, which is the maximum"
    model = direct(api="anthropic")
    assert not model._adapt(text, {"max_tokens": 4096})
    assert model._adapt(text, {"max_tokens": 4097})
    assert model._adapt(text, {"max_tokens": 64000})
    assert len(model.notes) == 1
    assert model.payload(request(WEATHER))["max_tokens"] == 4096
    assert model.payload(request(WEATHER, parameters={"max_tokens": 7}))["max_tokens"] == 7
    assert "max_tokens" not in model.payload(request(WEATHER, parameters={"max_tokens": None}))
    assert not direct()._adapt(text, {"max_tokens": 64000})
    assert not model._adapt("max_tokens: many", {"max_tokens": 64000})


@pytest.mark.parametrize(
    ("status", "text", "asked"),
    [
        (404, "", True), (405, "", True), (400, "the model m is not here", True), (422, "unknown model: invalid", True),
        (400, "no such thing", False), (401, "the model m is not here", False), (None, "<html>", True),
        (None, "words", False),
        (500, "<html>", False),
    ],
)  # fmt: skip
def test_when_to_find_out_what_was_meant(monkeypatch, status, text, asked):
    seen = []

    async def likely(server, name):
        seen.append(name)
        return said

    said = "write this"
    monkeypatch.setattr("pytest_bfcl.models.openai.likely_mend", likely)

    async def work():
        model, answer = direct(), Answer(status or 200, text, {})
        for _ in range(2):
            fault = await model._with_mend(AdapterError("bad_request", "x", status=status, advice="look"), answer)
            assert fault.advice == ("write this" if asked else "look")
        refused = await model._with_mend(ToolsRefused("no tools", status=404), answer)
        assert refused.advice == ToolsRefused("no tools").advice

    run(work())
    assert seen == ["m"] * asked
    said, asked = "", False  # nothing was found out
    run(work())
