"""Servers that run already are found by asking, and named when there are several."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.session.serving import FoundServer, ask_server, find_servers, get, named_spec, only_model


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body: bytes = self.server.body  # type: ignore[attr-defined]
        self.server.key = self.headers["Authorization"]  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    """A loopback server whose ``body`` is what it answers."""
    made = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def _models(*names: object) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()


def test_a_server_is_found_with_its_models(server: ThreadingHTTPServer) -> None:
    server.body = _models("Qwen/Qwen3-8B", "lora")  # type: ignore[attr-defined]
    port = server.server_address[1]
    assert find_servers({port: "vLLM"}) == [
        FoundServer(f"http://127.0.0.1:{port}/v1", "vLLM", ("Qwen/Qwen3-8B", "lora"))
    ]


@pytest.mark.parametrize(
    "body", [b"<html>hello</html>", b"[]", b"{}", b'{"data": 3}', b"[" * 100_000, b'{"data": [3]}']
)
def test_anything_else_on_a_port_is_no_server(server: ThreadingHTTPServer, body: bytes) -> None:
    server.body = body  # type: ignore[attr-defined]
    assert find_servers({server.server_address[1]: "vLLM"}) == []


@pytest.mark.parametrize("key", [None, "k"])
def test_a_server_is_asked_with_the_key_that_there_is(
    key: str | None, server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.body = _models("m", "x" * 300, "x" * 301, "odd\n", 5)  # type: ignore[attr-defined]
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    assert ask_server(url, "vLLM", key) == FoundServer(url, "vLLM", ("m", "x" * 300))
    assert server.key == (key and f"Bearer {key}")  # type: ignore[attr-defined]
    monkeypatch.setenv("OPENAI_API_KEY", f" {key or ''}")
    named, found = named_spec(parse_spec("auto:m"), url, {})
    assert (named.text, found) == ("openai:m", url)
    assert server.key == (key and f"Bearer {key}")  # type: ignore[attr-defined]
    monkeypatch.setenv("VLLM_BASE_URL", f"{url}/")
    monkeypatch.setenv("VLLM_API_KEY", "theirs")
    assert named_spec(parse_spec("auto:m"))[0].text == "vllm:m"
    assert server.key == "Bearer theirs"  # type: ignore[attr-defined]


class Misbehaving(BaseHTTPRequestHandler):
    """``/there`` is an answer; the other paths are what a question must not follow, take in or wait for."""

    def do_GET(self) -> None:
        asked: list[str] = self.server.asked  # type: ignore[attr-defined]
        asked.append(self.path)
        self.send_response({"/moved": 302, "/gone": 404}.get(self.path, 200))
        self.send_header("Location", "/there")
        self.end_headers()
        try:
            for _ in range({"/long": 100, "/slow": 100}.get(self.path, 1)):
                self.wfile.write(b"x" * (100 if self.path == "/long" else 1))
                if self.path == "/slow":
                    time.sleep(0.05)
        except OSError:  # the question gave up
            pass

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.parametrize(
    ("path", "answer"), [("there", b"x"), ("moved", None), ("gone", None), ("long", None), ("slow", None)]
)
def test_a_question_is_bounded_and_stays_with_its_server(
    path: str, answer: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Misbehaving)
    server.asked = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        before = time.monotonic()
        url = f"http://127.0.0.1:{server.server_address[1]}/{path}"
        assert get(url, timeout_s=0.5, most_bytes=1_000) == answer
        assert time.monotonic() - before < 3
        assert server.asked == [f"/{path}"]  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()


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
