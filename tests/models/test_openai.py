"""The OpenAI-compatible adapter against a real server: what it sends, what it reads, how it adapts."""

from __future__ import annotations

import pytest
from aiohttp import web

from pytest_bfcl.endpoints.retrying import RetryPolicy
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import ToolsRefused, create_model, parse_spec
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.settings import Settings
from tests.models.asking import KEY, answering, ask
from tests.models.loopback import WEATHER, Prompted, completion, request


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def direct(spec="vllm:m@fc", **settings):
    return create_model(spec, Settings(base_url="http://localhost:1/v1", **settings))


@pytest.mark.parametrize(
    ("spec", "settings", "sent", "noted"),
    [
        ("openai:gpt-5-mini@fc", {"api": "responses"}, None, True),
        ("openai:gpt-5@fc", {"api": "responses", "temperature": None}, None, False),
        ("openai:gpt-5@fc", {"api": "responses", "parameters": {"temperature": 1}}, 1, False),
        ("openai:gpt-5@fc", {"api": "chat"}, 0.001, False), ("openai:gpt-4.1@fc", {"api": "responses"}, 0.001, False),
    ],
)  # fmt: skip
def test_models_that_reason_are_sent_a_temperature_only_where_it_was_asked_for(spec, settings, sent, noted):
    model = direct(spec, **settings)
    body = model.payload(request(parameters={**Settings(**settings).sent_parameters(), "top_p": 1}))
    assert (body.get("temperature"), body["top_p"], bool(model.notes)) == (sent, 1, noted)


@pytest.mark.parametrize("status", [200, 400])
def test_tools_are_refused_only_where_some_were_sent(status):
    refusal = answering({"error": {"message": "this model does not support tools", "code": 400}}, status)
    for mode, kind in (("fc", ToolsRefused), ("prompt", AdapterError)):
        with pytest.raises(AdapterError) as caught:
            ask(refusal, mode=mode, policy=RetryPolicy(0))
        assert type(caught.value) is kind


def test_where_tools_are_sent():
    prompts = OpenAIModel(parse_spec("vllm:m"), Settings(), "fc", api=Prompted())
    for model, tools in ((prompts, False), (direct("vllm:m@prompt"), False), (direct(), True)):
        assert ("tools" in model.payload(request(WEATHER)), "tools" in model.payload(request())) == (tools, False)


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


@pytest.mark.parametrize(
    ("body", "status", "looked"),
    [
        ("no such model", 404, True), ("<html>moved</html>", 405, True), ("<html>hi</html>", 200, True),
        ("the model m is not known", 400, True), ("unknown model: not here", 422, True), ("{", 200, False),
        ("the model m does not support tools", 400, False),
        ("the model takes less", 400, False), ("<html>busy</html>", 500, False), ("model not known", 500, False),
    ],
)  # fmt: skip
def test_what_was_meant_is_looked_up_where_address_or_name_may_be_wrong(body, status, looked):
    seen = []

    async def handler(req):
        seen.append(req.method)
        return await answering(body, status)(req)

    with pytest.raises(AdapterError):
        ask(handler, policy=RetryPolicy(0))
    assert ("GET" in seen) is looked


@pytest.mark.parametrize(("status", "again"), [(400, True), (422, True), (500, False), (403, False)])
def test_a_refused_field_is_left_out_only_of_what_was_a_mistake(status, again):
    seen = []

    async def handler(req):
        seen.append("temperature" in await req.json())
        if seen[-1]:
            return web.json_response({"error": {"message": "temperature is not supported"}}, status=status)
        return web.json_response(completion({"content": "ok"}))

    asked = request(WEATHER, parameters={"temperature": 1})
    if again:
        assert ask(handler, asked, policy=RetryPolicy(0))[0].text == "ok"
    else:
        with pytest.raises(AdapterError):
            ask(handler, asked, policy=RetryPolicy(0))
    assert seen == [True, False][: 1 + again]


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
