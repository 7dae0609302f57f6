"""The OpenAI-compatible adapter against a real server, one fault at a time."""

from __future__ import annotations

import asyncio
import socket
import time
from email.utils import formatdate

import pytest
from aiohttp import web

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models.breaker import EndpointUnreachable
from pytest_bfcl.models.retrying import RetryPolicy
from pytest_bfcl.transcript import Reply
from tests.models.asking import FAST, KEY, answering, ask, failing, model_at
from tests.models.loopback import WEATHER, completion, request, run, serving
from tests.patience import patience


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


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
    assert time.monotonic() - started < patience(3)


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert time.monotonic() - started < patience(5)


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
