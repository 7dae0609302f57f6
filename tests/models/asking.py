"""One request of the OpenAI-compatible adapter to a server made for it."""

from __future__ import annotations

from aiohttp import web

from pytest_bfcl.endpoints.retrying import RetryPolicy
from pytest_bfcl.models import parse_spec
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply
from tests.models.loopback import WEATHER, completion, request, run, serving

FAST = RetryPolicy(retries=3, limit_s=20, first_s=0.01, longest_s=0.05)
KEY = "sk-unit-test-0123456789abcdef"


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
        if req.method == "GET":  # looking for the models it offers
            return web.Response(status=404)
        state["seen"] += 1
        if state["seen"] <= times:
            return await fault(req)
        return web.json_response(then or completion({"content": "ok"}))

    handler.state = state
    return handler
