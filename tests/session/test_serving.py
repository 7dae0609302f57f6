"""Servers that run already are found by asking, and named when there are several."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.session.serving import FoundServer, ask_server, find_servers, get, named_spec, only_model


class Handler(BaseHTTPRequestHandler):
    """Answers with the server's ``body``; some paths are what a question must not follow, take in or wait for."""

    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        self.send_response({"/moved": 302, "/gone": 404}.get(self.path, 200))
        self.send_header("Location", "/there")
        self.end_headers()
        with suppress(OSError):  # the question gave up
            for _ in range(100 if self.path in ("/long", "/slow") else 1):
                self.wfile.write(self.server.body)
                time.sleep(0.05 * (self.path == "/slow"))

    def log_message(self, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A loopback server: what it answers, and the paths and keys that it was asked with."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.asked = b"x" * 20, list[tuple[str, str | None]]()
        self.root = f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
        yield made
        made.shutdown()


def _models(*names: object) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()


@pytest.mark.parametrize(
    ("body", "models"),
    [
        (_models("Qwen/Qwen3-8B", "lora"), ("Qwen/Qwen3-8B", "lora")),
        *(
            (each, None)
            for each in (b"<html>hello</html>", b"[]", b"{}", b'{"data": 3}', b'{"data": [3]}', b"[" * 100_000)
        ),
        (_models(3), None),
    ],
)
def test_a_server_is_what_tells_its_models(server: Server, body: bytes, models: tuple[str, ...] | None) -> None:
    server.body = body
    found = find_servers({server.server_address[1]: "vLLM"})
    assert found == ([FoundServer(f"{server.root}/v1", "vLLM", models)] if models else [])


@pytest.mark.parametrize("key", [None, "k"])
def test_a_server_is_asked_with_the_key_that_there_is(
    key: str | None, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.body, url, sent = (
        _models("m", "x" * 300, "x" * 301, "odd\n", 5),
        f"{server.root}/v1",
        key and f"Bearer {key}",
    )
    assert ask_server(url, "vLLM", key) == FoundServer(url, "vLLM", ("m", "x" * 300))
    monkeypatch.setenv("OPENAI_API_KEY", f" {key or ''}")
    named, found = named_spec(parse_spec("auto:m"), url, {})
    assert (named.text, found) == ("openai:m", url)
    monkeypatch.setenv("VLLM_BASE_URL", f"{url}/")
    monkeypatch.setenv("VLLM_API_KEY", "theirs")
    assert named_spec(parse_spec("auto:m"))[0].text == "vllm:m"
    assert [each for _, each in server.asked] == [sent, sent, "Bearer theirs"]


@pytest.mark.parametrize(
    ("path", "answered"), [("/there", True), ("/moved", False), ("/gone", False), ("/long", False), ("/slow", False)]
)
def test_a_question_is_bounded_and_stays_with_its_server(
    path: str, answered: bool, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    before = time.monotonic()
    most = 10_000 if path == "/slow" else len(server.body)
    assert get(server.root + path, timeout_s=0.5, most_bytes=most) == (server.body if answered else None)
    assert time.monotonic() - before < 3
    assert [each for each, _ in server.asked] == [path]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://[", "ftp://127.0.0.1/", "http://a b/", "", "http://x:99999/"]
)
def test_an_address_that_cannot_be_asked_gives_no_answer(url: str) -> None:
    assert get(url, timeout_s=0.5, most_bytes=10) is None


def test_some_of_many_models_are_named() -> None:
    for count, more in ((6, ""), (7, ", and 1 more")):
        server = FoundServer("http://h/v1", "vLLM", tuple(f"m{number}" for number in range(count)))
        with pytest.raises(UsageError, match=rf"m5 at http://h/v1 \(vLLM\){more}$"):
            only_model([server])
