"""The web search against the reference's recorded call sequences; the network is what each call says it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_bfcl.agentic.web_search import WebSearchAPI
from pytest_bfcl.extensions.serpapi.search import SerpApi
from pytest_bfcl.providers.pages import PageReader
from tests.simulators.trace_comparison import Wording, differences, read_traces

pytestmark = pytest.mark.golden


class Played(WebSearchAPI):
    """The simulator behind a network that answers each call as recorded."""

    def load(self, config: dict[str, Any], *, stubs: list[dict[str, Any]], **context: Any) -> None:
        self._stubs = iter(stubs)
        self._stub: dict[str, Any] = {}
        transport = httpx.MockTransport(self._answer)
        pages = PageReader(transport=transport, resolve=lambda host, port: ["93.184.215.14"])
        super().load(config, provider=SerpApi(transport=transport, pages=pages), **context)

    def invoke(self, method: str, args: Any = (), kwargs: Any = None) -> Any:
        self._stub = next(self._stubs)
        return super().invoke(method, args, kwargs)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if "search_payload" in self._stub:
            assert request.url.params["engine"] == "duckduckgo"
            return httpx.Response(200, json=self._stub["search_payload"])
        assert request.headers["host"] == "ex.test"
        return httpx.Response(self._stub["http_status"], text=self._stub["body"])


def test_web_search_repeats_the_recorded_sequences(golden_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPAPI_API_KEY", "not-a-key")
    lines = read_traces(golden_dir / "simulator_traces.jsonl", "WebSearchAPI")
    wording = Wording()
    problems: list[str] = []
    for number, line in enumerate(lines):
        simulator = Played(line["initial_config"], stubs=[call["stub"] for call in line["calls"]])
        problems += [f"sequence {number}, {text}" for text in differences(line, simulator, wording)]
        assert simulator._provider is not None
        simulator._provider.close()  # type: ignore[attr-defined]
    assert not problems, "\n".join(problems[:40])
    assert len(lines) == 66
