"""Which addresses may be fetched, and that redirects and names that change cannot get around it."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from pytest_bfcl.providers import pages
from pytest_bfcl.providers.pages import PageReader
from pytest_bfcl.providers.safety import Refused, checked, is_public

PUBLIC = "93.184.215.14"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0",
        "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "fec0::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "::ffff:7f00:1", "::127.0.0.1", "2002:7f00:1::", "2002:a00:1::1", "64:ff9b::7f00:1", "64:ff9b:1::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe", "192.0.0.1", "192.0.0.192", "192.0.0.9", "192.88.99.1", "192.175.48.1",
        "203.0.113.9", "198.51.100.7", "255.1.2.3", "239.1.1.1", "100::1", "100:0:0:1::1", "2001:1::1", "2001:20::1",
        "3fff::1", "5f00::1", "2620:4f:8000::1", "2002:808:808::1", "4000::1", "e000::1", "0:0:1::1",
        "not an address", "",
    ],
)  # fmt: skip
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "only http and https"),
        ("gopher://example.com/", "only http and https"),
        ("http://", "name a host"),
        ("http://user:secret@example.com/", "no user"),
        ("http://example.com:22/", "port 22"),
        ("http://example.com:99999/", "not a web address"),
        ("http://[::1", "not a web address"),
        ("http://example.com/" + "a" * 5000, "characters"),
        ("http://127.0.0.1/", "not a public address"),
        ("http://2130706433/", "not a public address"),
        ("http://0x7f.1/", "not a public address"),
        ("http://[::ffff:127.0.0.1]/", "not a public address"),
        ("http://localhost:8000/", "not a public address"),
    ],
)
def test_refused_addresses(url: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        checked(url)


def test_one_private_address_among_several_is_enough() -> None:
    with pytest.raises(Refused):
        checked("http://example.com/", lambda host, port: [PUBLIC, "10.0.0.1"])
    with pytest.raises(OSError, match="no address"):
        checked("http://example.com/", lambda host, port: [])


def reader(answer: Any, addresses: Any = None) -> PageReader:
    return PageReader(transport=httpx.MockTransport(answer), resolve=addresses or (lambda host, port: [PUBLIC]))


def test_the_request_goes_to_the_checked_address_under_the_hosts_name() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, text="hello")

    assert reader(answer).fetch("https://example.com/a?b=1#c", "raw") == {"content": "hello"}
    (request,) = seen
    assert str(request.url) == f"https://{PUBLIC}/a?b=1"
    assert request.headers["host"] == "example.com"
    assert request.extensions["sni_hostname"] == "example.com"


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/latest", "//localhost/", "file:///etc/passwd", "http://[::ffff:10.0.0.1]/"]
)
def test_redirects_are_checked_again(target: str) -> None:
    def resolve(host: str, port: int) -> list[str]:
        return [PUBLIC] if host == "example.com" else ["127.0.0.1"] if host == "localhost" else [host]

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.host == PUBLIC, "nothing else may be reached"
        return httpx.Response(302, headers={"Location": target})

    assert "error" in reader(answer, resolve).fetch("http://example.com/", "raw")


def test_redirects_are_followed_and_end() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        number = int(request.url.path.strip("/") or 0)
        if number == 3:
            return httpx.Response(200, text="there")
        return httpx.Response(301, headers={"Location": f"/{number + 1}"})

    assert reader(answer).fetch("http://example.com/", "raw") == {"content": "there"}
    endless = reader(lambda request: httpx.Response(302, headers={"Location": "/"}))
    assert "redirects" in endless.fetch("http://example.com/", "raw")["error"]


def test_sizes_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_BYTES", 1000)
    large = reader(lambda request: httpx.Response(200, content=b"x" * 1001))
    assert "larger than 1,000 bytes" in large.fetch("http://example.com/", "raw")["error"]
    gone = reader(lambda request: httpx.Response(404)).fetch("http://example.com/", "raw")
    assert gone == {"error": "404 Client Error: Not Found for url: http://example.com/"}

    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("too slow")

    assert "too slow" in reader(broken).fetch("http://example.com/", "raw")["error"]
    odd = reader(lambda r: httpx.Response(200, content="é".encode(), headers={"Content-Type": "text/html; charset=no"}))
    assert odd.fetch("http://example.com/", "raw") == {"content": "é"}
    assert "mode" in odd.fetch("http://example.com/", "loud")["error"]


@pytest.fixture
def loopback() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            raise AssertionError("a private server was reached")

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("form", ["http://{}/", "http://user@{}/", "https://{}/"])
def test_a_server_on_this_machine_is_not_reached(loopback: str, form: str) -> None:
    assert "error" in PageReader().fetch(form.format(loopback), "raw")
