"""REST providers: our own service, the public web behind checks, recordings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pytest_bfcl.extensions.retired.rest import open_rest, rest_problem
from pytest_bfcl.extensions.retired.rest.live import LiveRest
from pytest_bfcl.extensions.retired.rest.local import LocalRest, RecordedRest
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.run_options.values import rest

BASE = "http://rest.bfcl.test"


@pytest.fixture(scope="module")
def local() -> Iterator[LocalRest]:
    made = LocalRest()
    yield made
    made.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://rest.bfcl.test.evil.org/", "file:///etc/passwd", "http://[::1", "", "rest",
        "http://rest.bfcl.test@10.0.0.1/", "http://localhost:631/holidays/2026/OR",
    ],
)  # fmt: skip
def test_nothing_else_is_reached(local: LocalRest, url: str) -> None:
    assert "error" in local.get(url, {}, {})


@pytest.mark.parametrize(
    "path",
    ["/", "/../../etc/passwd", "/holidays/99999/OR", "/weather/x\r\nHost: y", "/rates/%00", "/weather/tarn?days=x"],
)
def test_odd_requests_get_an_answer(local: LocalRest, path: str) -> None:
    answer = local.get(BASE + path, {}, {"X-Api-Key": "demo-key"})
    assert answer.get("status", 400) >= 400


def live(respond: object, addresses: dict[str, str] | None = None) -> LiveRest:
    known = addresses or {}
    return LiveRest(
        transport=httpx.MockTransport(respond),  # type: ignore[arg-type]
        resolve=lambda host, port: [known.get(host, "93.184.216.34")],
    )


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("http://127.0.0.1/", {"127.0.0.1": "127.0.0.1"}),
        ("http://inside.example.org/", {"inside.example.org": "10.1.2.3"}),
        ("http://169.254.169.254/latest/", {"169.254.169.254": "169.254.169.254"}),
        ("ftp://example.org/", {}),
        ("http://example.org:22/", {}),
    ],
)
def test_private_addresses_are_refused(url: str, addresses: dict[str, str]) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        raise AssertionError("nothing may be sent")

    assert "error" in live(respond, addresses).get(url, {}, {})


@pytest.mark.parametrize("headers", [{"a b": "c"}, {"a": "b\r\nHost: c"}, {"a": "é"}, {str(i): "x" for i in range(50)}])
def test_broken_headers_are_refused(headers: dict[str, str]) -> None:
    assert "error" in live(lambda request: httpx.Response(200)).get("http://example.org/", {}, headers)


def test_a_redirect_inside_is_refused_and_headers_stay_behind() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if request.headers["host"] == "a.example.org":
            return httpx.Response(302, headers={"location": "http://b.example.org/next"})
        assert "x-key" not in request.headers
        return httpx.Response(302, headers={"location": "http://10.0.0.1/"})

    provider = live(respond, {"10.0.0.1": "10.0.0.1"})
    assert "not a public address" in provider.get("http://a.example.org/", {}, {"X-Key": "k"})["error"]


def test_keys_go_only_where_they_belong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BFCL_OMDB_API_KEY", "s3cret")
    sent: list[str] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(str(request.url))
        return httpx.Response(200, json={"echo": str(request.url)})

    provider = live(respond)
    named = {"apikey": "YOUR-OMDB-API-KEY"}
    answer = provider.get("http://www.omdbapi.com/", named, {})
    provider.get("http://evil.example.org/www.omdbapi.com", named, {})
    assert "s3cret" in sent[0]
    assert "s3cret" not in sent[1]
    assert "s3cret" not in json.dumps(answer)


@pytest.mark.parametrize("status", [429, 503])
def test_broken_services_are_not_the_models_fault(status: int) -> None:
    with pytest.raises(AdapterError):
        live(lambda request: httpx.Response(status)).get("http://example.org/", {}, {})


def test_record_and_replay(tmp_path: Path) -> None:
    with_server = open_rest("record", official=False, archive=tmp_path / "rest")
    first = with_server.get(f"{BASE}/weather/tarn", {"days": 2}, {})
    with_server.close()
    again = open_rest(f"replay:{tmp_path}", official=True)
    assert again.get(f"{BASE}/weather/tarn?days=2", {}, {}) == first
    with pytest.raises(AdapterError, match="not in the recording"):
        again.get(f"{BASE}/weather/tarn", {"days": 3}, {})


def test_recorded_functions(tmp_path: Path) -> None:
    line = {"call": ["call", "get_weather_data", {"coordinates": [90.0, 0.0]}], "result": None}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n")
    recording = RecordedRest(tmp_path)
    assert recording.called("get_weather_data", {"coordinates": (90, 0)}) == (None,)
    assert recording.called("get_weather_data", {"coordinates": [0, 90]}) is None


def test_choices(tmp_path: Path) -> None:
    assert rest_problem("auto", official=False) is None
    assert "needs a recorded provider" in str(rest_problem("auto", official=True))
    assert "real services" in str(rest_problem("local", official=True))
    assert rest_problem("local", official=False) is None
    assert "nothing to replay" in str(rest_problem(f"replay:{tmp_path}", official=True))
    with pytest.raises(UsageError):
        open_rest("auto", official=True)
    with pytest.raises(ValueError, match="one of"):
        rest("web")
