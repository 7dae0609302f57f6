"""An endpoint without a server: headers, keys, what transport trouble means, and finding out what was meant."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from pytest_bfcl.endpoints.faults import EndpointUnreachable
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import endpoint as module
from pytest_bfcl.models import probing
from pytest_bfcl.models.callable import fixture_error, is_users_code
from pytest_bfcl.models.endpoint import Endpoint, _text_of
from pytest_bfcl.settings import Settings
from tests.models.loopback import serving

SECRET = "sk-unit-test-0123456789"


def made(url: str = "http://localhost:1/v1/", key: str = "", **how: Any) -> Endpoint:
    settings = how.pop("settings", Settings())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_KEY", key)
        return Endpoint(url, settings, key_variable="SOME_KEY", **how)


def sent(server: Endpoint) -> tuple[dict[str, str], aiohttp.ClientSession, int]:
    async def work() -> tuple[dict[str, str], aiohttp.ClientSession, int]:
        session = server.connected()
        assert server.connected() is session
        headers = {name.lower(): value for name, value in session.headers.items()}
        connector: Any = session.connector
        limit = connector.limit
        await server.aclose()
        assert server.connected() is not session
        await server.aclose()
        return headers, session, limit

    return asyncio.run(work())


JSON = {"content-type": "application/json", "accept": "application/json"}


@pytest.mark.parametrize(
    ("server", "headers"),
    [
        (made(), JSON), (made(key=f" {SECRET}\n"), JSON | {"authorization": f"Bearer {SECRET}"}),
        (made(key=SECRET, key_header="x-api-key"), JSON | {"x-api-key": SECRET}),
        (made("http://u:p@localhost:1/v1", key=SECRET), JSON | {"authorization": "Basic dTpw"}),
        (made("http://u:p@localhost:1/v1"), JSON | {"authorization": "Basic dTpw"}),
        (made(settings=Settings(stream=True)), JSON | {"accept": "application/json, text/event-stream"}),
        (made(key=SECRET, headers={"V": "1"}, settings=Settings(headers={"Authorization": "own", "v": "2"})),
         JSON | {"authorization": "own", "v": "2"}),
    ],
)  # fmt: skip
def test_headers(server: Endpoint, headers: dict[str, str]) -> None:
    assert sent(server)[0] == headers


def test_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    for concurrency, limit in ((2, 8), (8, 8), (9, 9)):
        server = made(settings=Settings(concurrency=concurrency, timeout_s=50.0))
        _, session, places = sent(server)
        assert places == limit
        timeout = session.timeout
        assert (timeout.total, timeout.sock_connect, timeout.sock_read) == (None, 30.0, 50.0)
        assert session.trust_env is False
    assert sent(made(settings=Settings(timeout_s=5.0)))[1].timeout.sock_connect == 5.0
    server = made()
    first, second = sent(server)[1], sent(server)[1]  # in a loop of its own each
    assert first is not second
    assert (first.closed, asyncio.run(server.aclose())) == (True, None)


def test_white_space_around_a_key_is_noted() -> None:
    assert made(key=SECRET).notes == []
    (note,) = made(key=f"{SECRET} ").notes
    assert note == "SOME_KEY has white space around the key; it is sent without"
    assert (made(key=SECRET).has_key, made().has_key) == (True, False)


@pytest.mark.parametrize("key", [f"'{SECRET}'", f'"{SECRET}', f"{SECRET}'", f"“{SECRET}"])
def test_a_quoted_key_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match="has a quote around the key") as caught:
        made(key=key)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "key", "headers", "said"),
    [
        ("https://api.openai.com/v1", "", {}, "no key for https://api.openai.com/v1"),
        ("http://localhost:1", "", {}, None),
        ("https://api.openai.com/v1", "", {"API-Key": "x"}, None),
        ("https://api.openai.com/v1", "", {"x-api-key": "x"}, None),
        ("https://api.openai.com/v1", "", {"Authorization": "x"}, None),
        ("https://api.anthropic.com", "", {"other": "x"}, "no key"),
        ("http://localhost:1", "a b", {}, "has a line break or a blank inside"),
        ("http://localhost:1", "a\x01b", {}, "has a line"),
        ("https://api.openai.com/v1", SECRET, {}, None),
    ],
)  # fmt: skip
def test_keys_that_are_needed(url: str, key: str, headers: dict[str, str], said: str | None) -> None:
    server = made(url, key, settings=Settings(headers=headers))
    if said is None:
        server.check_key()
        return
    with pytest.raises(AdapterError, match=said) as caught:
        server.check_key()
    assert caught.value.kind == "auth"
    assert "export SOME_KEY" in caught.value.advice

    async def connected() -> None:
        server.connected()

    with pytest.raises(AdapterError, match=said):
        asyncio.run(connected())


def test_a_system_that_gives_no_reason() -> None:
    assert "it is odd" in made()._unreachable(OSError("it is odd"), "").message
    assert "http://h:1" in (made("https://h:1")._unreachable(OSError("record layer failure"), "").advice or "")


class Odd(Exception):
    message = 7


@pytest.mark.parametrize(
    ("error", "kind", "retryable", "said"),
    [
        (aiohttp.InvalidURL("x"), "bad_request", False, "http://localhost:1/v1: x"),
        (aiohttp.ConnectionTimeoutError("slow"), "unreachable", True, "cannot connect: http://localhost:1/v1: slow"),
        (aiohttp.SocketTimeoutError("slow"), "timeout", True, "http://localhost:1/v1 sent nothing for 120 s"),
        (aiohttp.ServerDisconnectedError("bye"), "connection", True,
        "the connection broke: http://localhost:1/v1: bye"),
        (aiohttp.ClientError(), "connection", True, "the connection broke: http://localhost:1/v1: ClientError"),
        (Odd("half a head"), "connection", True, "the connection broke: http://localhost:1/v1: Odd"),
    ],
)  # fmt: skip
def test_what_broke_on_the_way(error: Exception, kind: str, retryable: bool, said: str) -> None:
    found = made()._transport_error(error)
    assert ("unreachable" if isinstance(found, EndpointUnreachable) else found.kind) == kind
    assert (found.message, found.retryable) == (said, retryable)
    assert ("running and reachable" in (found.advice or "")) is (kind in ("unreachable", "connection"))


@pytest.mark.parametrize(
    ("data", "status", "charset", "text"),
    [
        ("é".encode(), 200, None, "é"), ("é".encode("utf-16"), 200, None, "é"),
        (b"\xe9\x80", 200, "Latin-1", "\xe9\x80"),
        (b"\xe9\x80", 200, "cp1252", "é€"), (b"\xe9\x80", 200, "windows-1252", "é€"), (b"\xe9", 500, None, "�"),
        (b"\xe9", 300, "odd", "�"), (b"\xe9", 199, None, "�"), (b"\xe9", 200, None, None), (b"\xe9", 299, "odd", None),
    ],
)  # fmt: skip
def test_bodies_as_text(data: bytes, status: int, charset: str | None, text: str | None) -> None:
    response: Any = SimpleNamespace(status=status, charset=charset)
    if text is None:
        with pytest.raises(AdapterError, match="the answer is not UTF-8") as caught:
            _text_of(data, response)
        assert caught.value.retryable
    else:
        assert _text_of(data, response) == text


def test_the_environment_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine h.example login someone password hidden-word-1\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("https_proxy", "http://me:proxy-word-1@proxy:1")
    login = {"authorization": "Basic " + b64encode(b"someone:hidden-word-1").decode()}
    for url, key, headers, secrets in (
        ("https://h.example/v1", "", login, ("hidden-word-1", "proxy-word-1")),
        ("https://h.example/v1", SECRET, {"authorization": f"Bearer {SECRET}"}, (SECRET, "hidden-word-1")),
        ("https://other.example", "", {}, ("proxy-word-1",)),
        ("http://localhost:1", "", {}, ()),
    ):
        server = made(url, key)
        assert sent(server)[0] == JSON | headers
        assert server._proxy == ("http://me:proxy-word-1@proxy:1" if url.startswith("https") else None)
        told = " ".join(server.secrets)
        assert all(secret in told for secret in secrets)
        assert ("hidden-word-1" in told) == ("hidden-word-1" in secrets)
    monkeypatch.setenv("no_proxy", "h.example")
    netrc.write_text("nonsense")
    server = made("https://h.example/v1")
    assert (sent(server)[0], server._proxy) == (JSON, None)


@pytest.mark.parametrize(
    ("path", "found"), [("models", {"data": ["[hidden]"]}), ("gone", None), ("moved", None), ("odd", None)]
)
def test_what_a_get_finds(path: str, found: Any) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        if request.path == "/v1/models":
            return web.json_response({"data": [SECRET]})
        if request.path == "/v1/moved":
            raise web.HTTPFound("/v1/models")
        return web.json_response({"data": []}, status=404) if request.path == "/v1/gone" else web.Response(text="{")

    async def work() -> Any:
        async with serving(handler) as url:
            server = made(url, SECRET)
            try:
                return await server.get(path)
            finally:
                await server.aclose()

    assert asyncio.run(work()) == found


# ------------------------------------------------------------------ what was meant


@pytest.mark.parametrize(
    ("url", "there", "advice"),
    [
        ("http://h", {}, ""),
        ("http://h", {None: [{"id": "m"}]}, ""),
        ("http://h", {None: [{"id": 3}, "x", {"id": "a\nb"}], "http://h/v1": [{"id": "a"}]}, ""),
        ("http://h", {None: [{"id": "mm"}, {"name": "zz"}]}, "there is no model 'm'; did you mean mm?"),
        ("http://h", {None: [{"id": "b"}], "http://h/v1": []}, "there is no model 'm'; GET models offers b"),
        ("http://h", {None: [{"id": name} for name in "abcde"]},
         "there is no model 'm'; GET models offers a, b, c, d, e"),
        ("http://h", {None: [{"id": name} for name in "abcdefg"]},
         "there is no model 'm'; GET models offers a, b, c, d, e and 2 more"),
        ("http://h", {None: [{"id": "x" * 100}]}, f"there is no model 'm'; GET models offers {'x' * 80}"),
        ("http://h", {"http://h/api/v1": []}, "write --bfcl-base-url http://h/api/v1: models are listed there"),
        ("http://u:p@h/v1/chat/completions?x", {"http://h/v1": [{"id": "a"}]},
         "write --bfcl-base-url http://h/v1: models are listed there (it offers a)"),
        ("http://h/v1", {"http://h/v1": [], "http://h/openai/v1": []},
         "write --bfcl-base-url http://h/openai/v1: models are listed there"),
        ("http://h/x/models/", {"http://h/x": []}, "write --bfcl-base-url http://h/x: models are listed there"),
    ],
)  # fmt: skip
def test_likely_mends(url: str, there: dict[Any, Any], advice: str) -> None:
    class Server:
        async def get(self, path: str, base: str | None = None) -> Any:
            assert path == "models"
            return {"data": there[base]} if base in there else None

    server: Any = Server()
    server.url = url
    assert asyncio.run(probing.likely_mend(server, "m")) == advice


def test_places_in_the_users_code() -> None:
    def broken() -> None:
        raise ValueError("odd")

    with pytest.raises(ValueError, match="odd") as caught:
        broken()
    found = fixture_error(caught.value)
    assert found is not None
    assert found.message.startswith("the model fixture raised ValueError: odd (tests/models/test_endpoint.py:")
    assert found.message.endswith(", in broken)")
    assert found.advice.startswith("fix tests/models/test_endpoint.py:")
    elsewhere = ValueError("odd")
    assert fixture_error(elsewhere) is None
    users = fixture_error(elsewhere, users=True)
    assert users is not None
    assert (users.message, users.advice) == ("the model fixture raised ValueError: odd", "")
    assert [is_users_code(name) for name in (__file__, "<string>", asyncio.__file__, module.__file__,
    pytest.__file__)] == [
        True, False, False, False, False
    ]  # fmt: skip
