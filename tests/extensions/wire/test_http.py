"""The checks over real HTTP: the reference, servers that hang, cut, flood or are not there, and the key."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace

import pytest
from aiohttp import web

from pytest_bfcl.extensions.wire.checks import checks_for
from pytest_bfcl.extensions.wire.checks.load import LEAVERS
from pytest_bfcl.extensions.wire.client import Incoming, Place, WireClient
from pytest_bfcl.extensions.wire.outcome import record_of
from pytest_bfcl.extensions.wire.row import APIS, Api
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.settings import Settings
from tests.extensions.wire.examining import Handler, examine_http, handler, http, place_of, served, states
from tests.extensions.wire.planting import hold_slot
from tests.extensions.wire.reference import Reference
from tests.extensions.wire.variants import CHAT
from tests.patience import patience

KEY = "sk-verysecret0123456789"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["last delta lost", "id per chunk", "cross-talk", "every request fails"])
def test_faults_are_found_over_http(name: str) -> None:
    variant = next(variant for variant in CHAT if variant.name == name)
    with served(variant.server()) as url:
        assert states(examine_http(url), "broke") == variant.fails


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.slow
def test_a_server_that_works_on_for_clients_who_left(api: Api) -> None:
    with served(Reference(slots=8, pace_s=0.01, release=hold_slot)) as url:
        assert states(examine_http(url, api, ["disconnect"], slack_s=0.1), "broke") == {"disconnect"}
    with served(Reference(slots=8, pace_s=0.01)) as url:
        assert states(examine_http(url, api, ["disconnect"]), "held") == {"disconnect"}


class BusyOnce(Reference):
    """Somebody else's work delays the first short answer after the clients left."""

    async def serve(self, path: str, content: bytes) -> Incoming:
        if self.asked == 1 + LEAVERS:
            self.asked += 1
            await asyncio.sleep(10)
        return await super().serve(path, content)


def test_a_server_that_others_kept_busy_for_a_moment_is_not_blamed() -> None:
    server = BusyOnce(pace_s=0.01)
    with served(server) as url:
        assert states(examine_http(url, "chat", ["disconnect"], slack_s=1.0), "held") == {"disconnect"}
    assert server.asked > 2 * LEAVERS  # all of it a second time


@pytest.mark.slow
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_server_of_300_ms_takes_fifteen_seconds(api: Api) -> None:
    with served(Reference(delay_s=0.3, pace_s=0.001)) as url:  # paced: on a busy machine, too, clients leave a stream
        began = time.perf_counter()
        outcomes = examine_http(url, api, schemas=40)
        assert time.perf_counter() - began < patience(15)
    assert not {name: (each.state, each.why) for name, each in outcomes.items() if each.state != "held"}
    assert outcomes.keys() == {check.name for check in checks_for(api)}


async def _silent(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(20)
    return web.Response()


async def _cut(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-length": "5000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.close()
    return response


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(64):
        await response.write(b" " * 1024 * 1024)
    return response


async def _deep(request: web.Request) -> web.StreamResponse:
    return web.Response(text='{"choices": ' + "[" * 200_000, content_type="application/json")


async def _odd(request: web.Request) -> web.StreamResponse:
    bodies = [
        '{"choices": [null]}',
        '{"choices": [{"message": {"tool_calls": [null, 7, {"function": 3}]}}]}',
        "[]",
        "7",
        "\x00",
    ]
    return web.Response(text=bodies[len(await request.read()) % len(bodies)], content_type="application/json")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("handle", "why"),
    [
        (_silent, "no complete answer in time"),
        (_cut, "the connection broke"),
        (_endless, "endless answer"),
        (_deep, "no JSON object with choices"),
        (_odd, ""),
    ],
)
def test_hostile_servers_are_found_and_harm_nobody(handle: Handler, why: str) -> None:
    with http(handle) as url:
        limit_s = 0.5 if handle is _silent else 20.0
        outcomes = examine_http(url, "chat", ["answers", "stream_events", "call_recognised"], limit_s=limit_s)
    assert states(outcomes, "error") == set()
    assert outcomes["answers"].state in ("broke", "not_called")
    assert why in outcomes["answers"].why


def test_nobody_there_and_no_key_are_errors_of_ours() -> None:
    outcomes = examine_http("http://127.0.0.1:9", "chat", ["answers", "fault_body"])
    assert {outcome.state for outcome in outcomes.values()} == {"error"}
    assert "cannot reach" in outcomes["answers"].why

    async def locked(request: web.Request) -> web.StreamResponse:
        return web.json_response({"error": {"message": "bad key"}}, status=401)

    with http(locked) as url:
        outcome = examine_http(url, "chat", ["answers"])["answers"]
    assert outcome.state == "error"
    assert outcome.error is not None
    assert outcome.error.kind == "auth"


def test_a_busy_server_is_asked_again() -> None:
    server, refusals = Reference(), iter(range(3))
    inner = handler(server)

    async def busy(request: web.Request) -> web.StreamResponse:
        if next(refusals, None) is not None:
            return web.json_response({"error": {"message": "later"}}, status=429, headers={"retry-after": "0.01"})
        return await inner(request)

    with http(busy) as url:
        assert states(examine_http(url, "chat", ["answers", "call_id"]), "held") == {"answers", "call_id"}


def test_parameters_are_learnt_from_refusals() -> None:
    server = Reference()
    inner = handler(server)

    async def picky(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read() or b"{}") if request.can_read_body else {}
        if "temperature" in body:
            return web.json_response({"error": {"message": "temperature is not supported with this model"}}, status=400)
        if "max_tokens" in body:
            said = "max_tokens is not supported, use max_completion_tokens"
            return web.json_response({"error": {"message": said}}, status=400)
        return await inner(request)

    names = ["answers", "cut_in_call", "stream_arguments"]
    with http(picky) as url:
        assert states(examine_http(url, "chat", names), "held") == set(names)


def test_the_key_is_sent_and_never_kept() -> None:
    seen = set()

    async def echo(request: web.Request) -> web.StreamResponse:
        seen.add(request.headers.get("authorization"))
        return web.json_response({"error": {"message": f"no: {dict(request.headers)}"}}, status=500)

    with http(echo) as url:
        outcome = examine_http(url, "chat", ["answers"], key=KEY)["answers"]
        line = record_of(outcome, place_of(url, key=KEY), "openai:m@fc").line
    assert seen == {f"Bearer {KEY}"}
    assert KEY not in line
    assert "Bearer $WIRE_TEST_KEY" in line


def test_only_endpoints_of_our_own_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = Settings(base_url="http://user:word@localhost:1/v1?key=abcdef")
    place = Place.of(parse_spec("openai:m"), settings)
    assert place.address == "http://localhost:1/v1"
    assert KEY not in repr(place)
    assert place.hidden(f"{KEY} word abcdef") == "[hidden] [hidden] [hidden]"
    with pytest.raises(UsageError, match="need an HTTP endpoint"):
        Place.of(parse_spec("oracle:"), Settings())
    for api in APIS:  # a prompt is needed by none of the checks of text completions
        assert Place.of(parse_spec("openai:m"), replace(settings, api=api)).api == api


def test_query_and_password_travel_with_the_request() -> None:
    seen: list[tuple[str, str, str]] = []

    async def look(request: web.Request) -> web.StreamResponse:
        seen.append((request.path, request.query_string, request.headers.get("authorization", "")))
        return web.json_response({})

    async def send(url: str) -> None:
        client = WireClient(place_of(url.replace("http://", "http://user:word@") + "?version=2", key=KEY).server)
        await client.post("/responses", {})
        await client.aclose()

    with http(look) as url:
        asyncio.run(send(url))
    assert seen == [("/v1/responses", "version=2", "Basic dXNlcjp3b3Jk")]
