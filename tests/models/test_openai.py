"""The OpenAI-compatible adapter against a real server, one fault at a time."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from email.utils import formatdate

import pytest
from aiohttp import web

from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import ToolsRefused, parse_spec
from pytest_bfcl.models.breaker import EndpointUnreachable
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.models.retrying import RetryPolicy
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply
from tests.models.loopback import CLOCK, WEATHER, completion, request, run, serving, tool_call

FAST = RetryPolicy(retries=3, limit_s=20, first_s=0.01, longest_s=0.05)
KEY = "sk-unit-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def model_at(url, *, mode="fc", policy=FAST, **settings):
    return OpenAIModel(parse_spec("openai:m"), Settings(base_url=url, **settings), mode, base_url=url, policy=policy)


def ask(handler, req=None, *, mode="fc", policy=FAST, **settings) -> tuple[Reply, OpenAIModel]:
    """One request to a server with this handler."""

    async def work():
        async with serving(handler) as url:
            model = model_at(url, mode=mode, policy=policy, **settings)
            try:
                return await model.generate(req or request(WEATHER)), model
            finally:
                await model.aclose()

    return run(work())


def answering(body, status=200, headers=None):
    async def handler(_):
        if isinstance(body, str | bytes):
            text = body.encode() if isinstance(body, str) else body
            return web.Response(body=text, status=status, headers=headers)
        return web.json_response(body, status=status, headers=headers)

    return handler


def failing(times, fault, then=None):
    """A handler that fails ``times`` times, then answers."""
    state = {"seen": 0}

    async def handler(req):
        state["seen"] += 1
        if state["seen"] <= times:
            return await fault(req)
        return web.json_response(then or completion({"content": "ok"}))

    handler.state = state
    return handler


# ------------------------------------------------------------------ what is sent


def test_the_request_carries_tools_key_and_parameters():
    seen = {}

    async def handler(req):
        seen.update(await req.json(), _auth=req.headers["authorization"], _path=req.path)
        return web.json_response(completion({"content": "hi"}))

    ask(handler, request(WEATHER, parameters={"temperature": 0.5, "max_tokens": 64, "seed": None}))
    assert seen["_path"] == "/v1/chat/completions"
    assert seen["_auth"] == f"Bearer {KEY}"
    assert (seen["model"], seen["temperature"], seen["max_tokens"]) == ("m", 0.5, 64)
    assert "seed" not in seen
    tool = seen["tools"][0]["function"]
    assert tool["name"] == "weather_lookup"
    assert tool["parameters"]["properties"]["degrees"]["type"] == "number"
    assert seen["messages"] == [{"role": "user", "content": "How is the weather in Bern?"}]


def test_prompting_mode_and_empty_function_lists_send_no_tools():
    bodies = []

    async def handler(req):
        bodies.append(await req.json())
        return web.json_response(completion({"content": "hi"}))

    ask(handler, request(WEATHER), mode="prompt")
    ask(handler, request())
    assert all("tools" not in body for body in bodies)


def test_our_own_message_fields_stay_home():
    bodies = []

    async def handler(req):
        bodies.append(await req.json())
        return web.json_response(completion({"content": "hi"}))

    req = request(WEATHER)
    req.messages.append({"role": "assistant", "content": "a", "reasoning_content": "secret thought", "_note": 1})
    ask(handler, req)
    assert bodies[0]["messages"][1] == {"role": "assistant", "content": "a"}


# ------------------------------------------------------------------ what comes back


def test_text_usage_and_latency():
    async def handler(_):
        await asyncio.sleep(0.05)
        return web.json_response(completion({"content": "hello"}, prompt_tokens=3, completion_tokens=2))

    reply, _ = ask(handler)
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("hello", 3, 2)
    assert (reply.attempts, reply.finish_reason, reply.problem) == (1, "stop", None)
    assert 0.05 <= reply.latency_s < 1


@pytest.mark.parametrize(
    ("message", "text", "calls"),
    [
        ({"content": None, "tool_calls": [tool_call("a", {"x": 1})]}, None, [("a", '{"x": 1}', "c1")]),
        ({"content": "text", "tool_calls": []}, "text", []),
        ({"content": "text", "tool_calls": None}, "text", []),
        ({"content": None}, None, []),
        ({"content": ""}, "", []),
        ({"content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]}, "one two", []),
        ({"content": "", "tool_calls": [tool_call("a", "{}", None), tool_call("b", "{}", None)]}, "",
         [("a", "{}", "call_0"), ("b", "{}", "call_1")]),
        ({"content": None, "tool_calls": [{"id": "7", "function": {"name": "a", "arguments": {"x": [1]}}}]}, None,
         [("a", '{"x": [1]}', "7")]),
        ({"content": None, "tool_calls": [{"id": "7", "function": {"name": "a"}}]}, None, [("a", "{}", "7")]),
        ({"content": None, "tool_calls": [{"id": "7", "function": {"name": "a", "arguments": ""}}]}, None,
         [("a", "", "7")]),
        ({"content": None, "tool_calls": [tool_call("a", '{"broken": ')]}, None, [("a", '{"broken": ', "c1")]),
        ({"content": None, "function_call": {"name": "old", "arguments": "{}"}}, None, [("old", "{}", "call_0")]),
        ({"content": "<think>hm</think>yes"}, "<think>hm</think>yes", []),
    ],
)  # fmt: skip
def test_tolerant_parsing(message, text, calls):
    reply, _ = ask(answering(completion(message)))
    assert reply.text == text
    assert [(c.name, c.arguments, c.id) for c in reply.tool_calls] == calls


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_fields(field):
    reply, _ = ask(answering(completion({"content": "yes", field: "because"})))
    assert (reply.text, reply.reasoning) == ("yes", "because")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (completion({"content": "half an ans"}, "length"), "length"),
        (completion({"content": None}, "content_filter"), "content_filter"),
        (completion({"content": None, "refusal": "I must not"}), "content_filter"),
        (completion({"content": None, "tool_calls": [tool_call("a", {})]}, "tool_calls"), None),
    ],
)
def test_problems_are_the_models(body, problem):
    reply, model = ask(answering(body))
    assert reply.problem == problem
    assert not model.breaker.open


def test_missing_usage_is_unknown():
    body = completion({"content": "x"})
    del body["usage"]
    reply, _ = ask(answering(body))
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "the request exceeds the available context size, try increasing it",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (40000) exceeds the maximum number of tokens allowed (32768).",
    ],
)
def test_context_overflow_is_the_models(message):
    reply, _ = ask(answering({"error": {"message": message, "code": "context_length_exceeded"}}, 400))
    assert reply.problem == "context_overflow"
    assert reply.text is None


# ------------------------------------------------------------------ errors that are not the model's


@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [
        (401, "Incorrect API key", "auth", False),
        (403, "forbidden", "auth", False),
        (404, "no such model", "bad_request", False),
        (400, "messages: must not be empty", "bad_request", False),
        (429, "You exceeded your current quota (insufficient_quota)", "quota", False),
        (402, "pay", "quota", False),
    ],
)
def test_errors_that_are_not_retried(status, message, kind, retryable):
    handler = failing(99, answering({"error": {"message": message}}, status))
    with pytest.raises(AdapterError) as caught:
        ask(handler)
    assert (caught.value.kind, caught.value.status, caught.value.retryable) == (kind, status, retryable)
    assert message in caught.value.message
    assert handler.state["seen"] == 1


def test_a_404_names_model_and_address():
    with pytest.raises(AdapterError) as caught:
        ask(answering({"error": "nope"}, 404))
    assert "'m'" in caught.value.advice
    assert "/v1" in caught.value.advice


@pytest.mark.parametrize("status", [500, 502, 503, 529, 429, 408, 504])
def test_passing_trouble_is_retried(status):
    reply, _ = ask(failing(2, answering({"error": "try again"}, status)))
    assert (reply.text, reply.attempts) == ("ok", 3)


def test_latency_is_that_of_the_successful_attempt():
    async def slow_failure(_):
        await asyncio.sleep(0.3)
        return web.Response(status=500)

    reply, _ = ask(failing(1, slow_failure))
    assert reply.attempts == 2
    assert reply.latency_s < 0.25


async def reset(req):
    req.transport.abort()
    return web.Response()


async def truncated(req):
    response = web.StreamResponse(headers={"content-type": "application/json", "content-length": "500"})
    await response.prepare(req)
    await response.write(b'{"choices": [{"mess')
    req.transport.close()
    return response


@pytest.mark.parametrize(
    "fault",
    [
        reset,
        truncated,
        answering('{"choices": [{"message": {"content": "cut of'),
        answering("<html>gateway</html>"),
        answering(""),
        answering({"choices": []}),
        answering({"object": "error"}),
        answering({"choices": [{}]}),
        answering("[" * 200_000),
    ],
    ids=["reset", "truncated", "cut_json", "html", "empty_body", "no_choices", "no_choice_key", "no_message", "deep"],
)
def test_broken_answers_are_retried(fault):
    reply, _ = ask(failing(2, fault))
    assert (reply.text, reply.attempts) == ("ok", 3)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(reset, "connection"), (truncated, "connection"), (answering("<html>"), "malformed_body"),
     (answering({"choices": []}), "malformed_body"), (answering({}, 500), "server")],
)  # fmt: skip
def test_lasting_trouble_has_a_kind(fault, kind):
    handler = failing(99, fault)
    with pytest.raises(AdapterError) as caught:
        ask(handler)
    assert caught.value.kind == kind
    assert handler.state["seen"] == 1 + FAST.retries


def test_silence_is_a_timeout():
    async def silent(_):
        await asyncio.sleep(5)
        return web.Response()

    with pytest.raises(AdapterError) as caught:
        ask(failing(9, silent), policy=RetryPolicy(0), timeout_s=0.2)
    assert caught.value.kind == "timeout"
    assert "0.2 s" in caught.value.message


def test_a_trickle_meets_the_total_limit():
    async def trickle(req):
        response = web.StreamResponse()
        await response.prepare(req)
        for _ in range(100):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    started = time.monotonic()
    with pytest.raises(AdapterError) as caught:
        ask(trickle, policy=RetryPolicy(0), timeout_s=5, request_limit_s=0.4)
    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 3


def test_a_blocked_loop_is_not_a_timeout():
    async def work():
        async def handler(_):
            await asyncio.sleep(0.3)
            return web.json_response(completion({"content": "ok"}))

        async with serving(handler) as url:
            model = model_at(url, policy=RetryPolicy(0), timeout_s=5, request_limit_s=1.0)
            task = asyncio.create_task(model.generate(request(WEATHER)))
            await asyncio.sleep(0.1)
            time.sleep(1.5)  # the test body of another entry
            reply = await task
            await model.aclose()
            return reply

    reply = run(work())
    assert reply.text == "ok"
    assert reply.latency_s < 1.2  # the blocked time is not the provider's


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    model = model_at(url, policy=RetryPolicy(1, 5, 0.01, 0.01))
    with pytest.raises(EndpointUnreachable) as caught:
        run(model.generate(request(WEATHER)))
    assert caught.value.kind == "connection"
    assert url in caught.value.advice


def test_retry_after_seconds_and_date_are_honoured():
    started = time.monotonic()
    reply, _ = ask(failing(1, answering({}, 429, {"retry-after": "0.4"})))
    assert reply.attempts == 2
    assert time.monotonic() - started >= 0.4
    reply, _ = ask(failing(1, answering({}, 503, {"retry-after": formatdate(time.time() + 1, usegmt=True)})))
    assert reply.attempts == 2


def test_retry_after_is_capped_by_the_deadline():
    started = time.monotonic()
    with pytest.raises(AdapterError) as caught:
        ask(failing(99, answering({}, 429, {"retry-after": "3600"})), policy=RetryPolicy(5, 0.5, 0.01, 0.01))
    assert caught.value.kind == "rate_limit"
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (400, "registry.local/library/tiny does not support tools"),
        (500, "tools param requires --jinja flag"),
        (404, "No endpoints found that support tool use."),
        (400, "Unrecognized request argument supplied: tools"),
        (400, "`tool calling` is not supported with this model"),
    ],
)
def test_refused_tools(status, message):
    handler = failing(99, answering({"error": {"message": message}}, status))
    with pytest.raises(ToolsRefused):
        ask(handler)
    assert handler.state["seen"] == 1
    with pytest.raises(AdapterError) as caught:  # nothing to refuse when none were sent
        ask(failing(99, answering({"error": {"message": message}}, status)), mode="prompt")
    assert not isinstance(caught.value, ToolsRefused)


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


def test_no_key_for_openai_says_which_variable(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    model = OpenAIModel(parse_spec("openai:m"), Settings(), "fc")
    with pytest.raises(AdapterError) as caught:
        run(model.generate(request(WEATHER)))
    assert caught.value.kind == "auth"
    assert "OPENAI_API_KEY" in caught.value.message + caught.value.advice
    assert model.breaker.reason is not None


def test_local_servers_need_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    headers = {}

    async def handler(req):
        headers.update(req.headers)
        return web.json_response(completion({"content": "ok"}))

    reply, _ = ask(handler)
    assert reply.text == "ok"
    assert "Authorization" not in headers


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


def test_a_base_url_must_be_one():
    with pytest.raises(UsageError, match="not an http"):
        model_at("localhost:8000")


# ------------------------------------------------------------------ the breaker


def test_a_refused_key_stops_everything():
    handler = failing(99, answering({"error": "no"}, 401))

    async def work():
        async with serving(handler) as url:
            model = model_at(url)
            kinds = []
            for _ in range(3):
                with pytest.raises(AdapterError) as caught:
                    await model.generate(request(WEATHER))
                kinds.append(caught.value.kind)
            await model.aclose()
            return kinds, model.breaker.reason

    kinds, reason = run(work())
    assert kinds == ["auth", "circuit_open", "circuit_open"]
    assert handler.state["seen"] == 1
    assert "refused the key" in reason


def test_one_poisoned_entry_does_not_stop_the_run():
    async def handler(req):
        body = await req.json()
        if "poison" in body["messages"][0]["content"]:
            return await reset(req)
        return web.json_response(completion({"content": "ok"}))

    async def work():
        async with serving(handler) as url:
            model = model_at(url, policy=RetryPolicy(2, 5, 0.001, 0.002))
            texts = [f"q {i}" if i % 4 else "poison" for i in range(40)]
            results = await asyncio.gather(
                *(model.generate(request(WEATHER, text=text)) for text in texts), return_exceptions=True
            )
            await model.aclose()
            return results, model.breaker.open

    results, is_open = run(work())
    assert sum(isinstance(r, Reply) for r in results) == 30
    assert not is_open


def test_an_unreachable_endpoint_stops_the_run_soon():
    model = model_at("http://127.0.0.1:1/v1", policy=RetryPolicy(1, 5, 0.001, 0.002))

    async def work():
        return await asyncio.gather(*(model.generate(request(WEATHER)) for _ in range(5)), return_exceptions=True)

    run(work())
    assert "cannot be reached" in model.breaker.reason


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
                model.base_url = url
                return await model.generate(request(CLOCK))

        assert run(work()).text == "ok"


def test_the_payload_is_plain_json():
    model = model_at("http://localhost:1/v1")
    assert json.loads(json.dumps(model.payload(request(WEATHER, CLOCK))))["model"] == "m"
