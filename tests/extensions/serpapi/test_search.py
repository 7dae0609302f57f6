"""SerpApi: results, back-off, trouble with the account, and a key that shows nowhere."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import pytest

from pytest_bfcl.extensions.serpapi import SerpApi
from pytest_bfcl.failures import AdapterError, UsageError

KEY = "0123456789abcdefsecret"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPAPI_API_KEY", KEY)


def api(*answers: Any, **options: Any) -> tuple[SerpApi, list[httpx.Request]]:
    left = list(answers)
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        given = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(given, Exception):
            raise given
        return httpx.Response(given[0], json=given[1]) if isinstance(given, tuple) else httpx.Response(200, json=given)

    return SerpApi(transport=httpx.MockTransport(answer), first_wait_s=0.01, wait_limit_s=0.2, **options), seen


FOUND = {"organic_results": [{"title": "T", "link": "http://e.test/", "snippet": "S", "position": 1}, {"title": "U"}]}


def test_results_keep_what_the_engine_gave() -> None:
    provider, seen = api(FOUND)
    assert provider.search("some words", 10, "us-en") == [
        {"title": "T", "href": "http://e.test/", "body": "S"},
        {"title": "U"},
    ]
    assert dict(seen[0].url.params) == {"engine": "duckduckgo", "q": "some words", "kl": "us-en", "api_key": KEY}


@pytest.mark.parametrize(
    "trouble", [(429, {"error": "slow down"}), (200, {"error": "429 too many"}), (503, {}), httpx.ConnectError("gone")]
)
def test_passing_trouble_is_waited_out(trouble: Any) -> None:
    provider, seen = api(trouble, trouble, FOUND)
    assert len(provider.search("x", 10, "wt-wt")) == 2
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        ((429, {"error": "slow down"}), "rate_limit"),
        ((401, {"error": f"Invalid API key {KEY}"}), "auth"),
        ((200, {"error": "Your account has run out of searches."}), "quota"),
        ((500, {}), "server"),
        (httpx.ConnectError(f"cannot reach api_key={KEY}"), "connection"),
        (httpx.ReadTimeout("slow"), "timeout"),
    ],
)
def test_lasting_trouble_is_not_the_models(trouble: Any, kind: str) -> None:
    provider, _ = api(trouble)
    with pytest.raises(AdapterError) as caught:
        provider.search("x", 10, "wt-wt")
    assert caught.value.kind == kind
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_key_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx")  # other libraries turn it down for the whole process
    provider, _ = api(FOUND)
    provider.search("x", 10, "wt-wt")
    assert "serpapi.com" in caplog.text, "httpx logs the request"
    assert KEY not in caplog.text
    assert not any(KEY in str(record.__dict__) for record in caplog.records)
    provider.close()


def test_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERPAPI_API_KEY")
    with pytest.raises(UsageError, match="SERPAPI_API_KEY"):
        SerpApi()
