"""The web search against the reference's recorded call sequences; the network is what each call says it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_bfcl.agentic.web_search import WebSearchAPI
from pytest_bfcl.extensions.serpapi import SerpApi
from pytest_bfcl.providers.pages import PageReader
from tests.simulators.trace_comparison import Wording, differences, read_traces

pytestmark = pytest.mark.golden


class Network:
    """It answers each call as recorded; one provider for all sequences, as loading certificates takes its time."""

    def __init__(self) -> None:
        self.stub: dict[str, Any] = {}
        transport = httpx.MockTransport(self.answer)
        pages = PageReader(transport=transport, resolve=lambda host, port: ["93.184.215.14"])
        self.provider = SerpApi(transport=transport, pages=pages)

    def answer(self, request: httpx.Request) -> httpx.Response:
        if "search_payload" in self.stub:
            assert request.url.params["engine"] == "duckduckgo"
            return httpx.Response(200, json=self.stub["search_payload"])
        assert request.headers["host"] == "ex.test"
        return httpx.Response(self.stub["http_status"], text=self.stub["body"])


class Played(WebSearchAPI):
    """The simulator behind the network."""

    def load(self, config: dict[str, Any], *, network: Network, stubs: list[dict[str, Any]], **context: Any) -> None:
        self._network, self._stubs = network, iter(stubs)
        super().load(config, provider=network.provider, **context)

    def invoke(self, method: str, args: Any = (), kwargs: Any = None) -> Any:
        self._network.stub = next(self._stubs)
        return super().invoke(method, args, kwargs)


def test_web_search_repeats_the_recorded_sequences(golden_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPAPI_API_KEY", "not-a-key")
    lines, network = read_traces(golden_dir / "simulator_traces.jsonl", "WebSearchAPI"), Network()
    wording = Wording()
    problems: list[str] = []
    for number, line in enumerate(lines):
        stubs = [call["stub"] for call in line["calls"]]
        simulator = Played(line["initial_config"], network=network, stubs=stubs)
        problems += [f"sequence {number}, {text}" for text in differences(line, simulator, wording)]
    network.provider.close()
    assert not problems, "\n".join(problems[:40])
    assert len(lines) == 66
