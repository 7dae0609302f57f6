"""When a run stops asking, and when it must not: whole endpoints in trouble, entries that always fail."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
from aiohttp import web

from pytest_bfcl.endpoints.retrying import RetryPolicy
from pytest_bfcl.failures import AdapterError
from tests.models.asking import KEY, model_at
from tests.models.loopback import WEATHER, completion, request, run, serving
from tests.patience import patience

QUICK = RetryPolicy(2, 20, 0.01, 0.05)
ONCE = RetryPolicy(0, 20, 0.01, 0.05)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def trouble(status=500, message="broken", **extra):
    headers = extra.pop("headers", None)
    if message.startswith("<"):
        return web.Response(text=message, status=status, headers=headers, content_type="text/html")
    return web.json_response({"error": {"message": message, **extra}}, status=status, headers=headers)


class Server:
    """Answers by the user's text: ``poison`` gets the trouble, and so does everybody while ``down``."""

    def __init__(self, answer, *, down=False, models=None):
        self.answer, self.down, self.models = answer, down, models
        self.asked, self.looked = [], 0

    async def __call__(self, req):
        if req.method == "GET":
            known, self.looked = self.models or {}, self.looked + 1
            return web.json_response(known[req.path]) if req.path in known else web.Response(status=404)
        text = (await req.json())["messages"][0]["content"]
        self.asked.append(text)
        if self.down or "poison" in text:
            return self.answer()
        return web.json_response(completion({"content": "ok"}))


def ask_all(server, texts, policy=QUICK, concurrency=8, base="", before=None):
    """Replies or errors in order, and the model."""

    async def handler(req):
        return await server(req)

    async def work():
        async with serving(handler) as url:
            model = model_at((url.removesuffix("/v1") + base) if base is not None else url, policy=policy)
            gate = asyncio.Semaphore(concurrency)
            if before is not None:
                before(model.breaker)

            async def one(text):
                async with gate:
                    return await model.generate(request(WEATHER, text=text))

            found = await asyncio.gather(*map(one, texts), return_exceptions=True)
            await model.aclose()
            return found, model

    return run(work())


def kinds(found):
    return [each.kind if isinstance(each, AdapterError) else "reply" for each in found]


@pytest.mark.parametrize(
    "answer",
    [
        lambda: trouble(404, "Not Found"),
        lambda: web.Response(text="<html><title>Welcome</title></html>", content_type="text/html"),
    ],
    ids=["404", "page"],
)
def test_nothing_but_the_same_failure_stops_the_run_soon(answer):
    server = Server(answer, down=True)
    started = time.monotonic()
    found, model = ask_all(server, [f"q {i}" for i in range(400)], base="/v1")
    assert model.breaker.open
    assert len(server.asked) < 60
    assert kinds(found).count("circuit_open") > 350
    assert time.monotonic() - started < patience(5)


def test_a_wrong_address_is_told_with_the_right_one():
    models = {"/v1/models": {"data": [{"id": "m"}, {"id": "other"}]}}
    _, model = ask_all(Server(lambda: trouble(404, "Not Found"), down=True, models=models), ["q"] * 20, base="")
    assert "/chat/completions answered HTTP 404: Not Found" in model.breaker.reason
    assert "/v1: models are listed there" in model.breaker.advice


@pytest.mark.parametrize("status", [403, 500, 429])
def test_a_continued_run_gets_past_entries_that_failed_before(status):
    """Only poison is left: a harmless question shows that the endpoint is well, and every entry gets its error."""
    server = Server(lambda: trouble(status))
    found, model = ask_all(server, [f"poison {i}" for i in range(60)], policy=ONCE)
    assert "circuit_open" not in kinds(found)
    assert not model.breaker.open
    assert "Please echo the word hello." in server.asked


@pytest.mark.slow
@pytest.mark.parametrize("status", [500, 503, 429])
def test_steady_trouble_ends_a_run_that_went_well(status):
    server = Server(lambda: trouble(status))
    texts = [f"q {i}" for i in range(300)]

    async def failing_later(req):
        server.down = len(server.asked) > 30
        return await server(req)

    started = time.monotonic()
    found, model = ask_all(failing_later, texts, policy=RetryPolicy(2, 2.0, 0.01, 0.05))
    assert model.breaker.open
    assert kinds(found).count("reply") >= 20
    assert str(status) in model.breaker.reason
    assert time.monotonic() - started < patience(10)


def test_looking_for_the_right_address_does_not_hold_up_the_error():
    async def handler(req):
        if req.method == "GET":
            await asyncio.sleep(30)
        return web.Response(status=404, text="nothing here")

    started = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_bfcl.models.probing._MEND_S", 0.3)
        (error,), _ = ask_all(handler, ["q"], base="/v1")
    assert error.kind == "bad_request"
    assert time.monotonic() - started < patience(3)


def test_nobody_listens():
    """Waiting for a server of this machine that is not there takes three short pauses, not all retries."""
    model = model_at("http://127.0.0.1:1/v1", policy=RetryPolicy(9, 300, 0.02, 60))
    began = time.monotonic()

    async def work():
        return await asyncio.gather(*(model.generate(request(WEATHER)) for _ in range(5)), return_exceptions=True)

    found = run(work())
    assert time.monotonic() - began < 3  # nine retries take ten
    assert {str(each).removeprefix("not sent: ") for each in found} == {"no server listens at http://127.0.0.1:1/v1"}
    assert model.breaker.reason == "no server listens at http://127.0.0.1:1/v1"
    assert model.breaker.advice == "start it, or check the port"


def test_https_to_a_server_that_speaks_http() -> None:
    async def work() -> None:
        async with serving(Server(lambda: web.json_response({}))) as url:
            model = model_at(url.replace("http://", "https://"), policy=RetryPolicy(1, 5, 0.001, 0.002))
            with pytest.raises(AdapterError, match="does not speak https") as caught:
                await model.generate(request(WEATHER))
            assert caught.value.advice == f"write --bfcl-base-url {url}"
            await model.aclose()

    run(work())


@pytest.mark.parametrize(("code", "absent"), [(socket.EAI_NONAME, True), (socket.EAI_AGAIN, False)])
def test_an_unknown_host_is_given_up_like_a_server_that_is_not_there(code, absent):
    model = model_at("http://nowhere.invalid/v1")
    error = model.server._unreachable(socket.gaierror(code, "resolver"), "")
    assert model.breaker.is_absent(error) is absent
