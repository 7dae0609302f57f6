"""Web search end to end over the local site: a diligent model, the site down, recordings replayed without a network."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.providers.local_site import LocalSite, LoopbackServer
from pytest_bfcl.providers.pages import visible_text
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings
from tests.agentic.diligent import DiligentWeb
from tests.agentic.shares import stands_in

CATEGORIES = ["web_search_base", "web_search_no_snippet"]


@pytest.fixture
def bundled() -> DataSet:
    return open_data("bundled")


def outcomes(result: Any) -> dict[str, tuple[Any, ...]]:
    return {r["id"]: (r["outcome"], r["reason"], r["output"], r["calls"], r["tool_results"]) for r in result.records}


@pytest.mark.slow
@pytest.mark.parametrize("category", CATEGORIES)
def test_score_is_what_is_possible(bundled: DataSet, category: str, tmp_path: Path) -> None:
    model = DiligentWeb()
    result = run(bundled, model, categories=[category], out=tmp_path / "run")
    entries = {ref.id: bundled.load(ref) for ref in bundled.index(category)}
    possible = {
        i for i, entry in entries.items() if stands_in(fetched(tmp_path / "run", i), entry.possible_answer or ())
    }
    assert {r["id"] for r in result.records if r["outcome"] == "passed"} == possible
    assert len(possible) > 0.25 * len(entries)


def fetched(out: Path, entry_id: str) -> str:
    """Everything the entry's page reads returned."""
    lines = map(json.loads, (out / "results.jsonl").read_text().splitlines())
    record = next(line for line in lines if line["id"] == entry_id)
    return "\n".join(
        text
        for turn_calls, turn_results in zip(record["calls"], record["tool_results"], strict=True)
        for calls, results in zip(turn_calls, turn_results, strict=True)
        for call, text in zip(calls or (), results, strict=True)
        if "fetch_url_content" in str(call)
    )


def test_with_the_site_down_nothing_is_answered(bundled: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bundled.site is not None
    monkeypatch.setattr(LoopbackServer, "port", no_network)
    result = run(bundled, DiligentWeb(), categories=["web_search"], search=LocalSite(bundled.site))
    assert sum(r["outcome"] == "passed" for r in result.records) < 0.05 * 40
    assert {r["outcome"] for r in result.records} == {"failed"}


@pytest.mark.slow
def test_snippets_are_left_out_where_the_category_says_so(bundled: DataSet, tmp_path: Path) -> None:
    result = run(bundled, DiligentWeb(), categories=["web_search"])
    for record in result.records:
        assert ("'body':" in record["tool_results"][0][0][0]) == (record["category"] == "web_search_base")


def no_network(*args: Any, **kwargs: Any) -> Any:
    raise OSError("the network is off")


def test_a_recorded_run_replays_without_a_network(
    bundled: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(search="record")
    first = run(bundled, DiligentWeb(), categories=["web_search"], settings=settings, out=tmp_path / "first")
    assert list((tmp_path / "first" / "web").glob("*.jsonl"))
    monkeypatch.setattr(LoopbackServer, "port", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    replay = Settings(search=f"replay:{tmp_path / 'first'}")
    again = run(bundled, DiligentWeb(), categories=["web_search"], settings=replay, out=tmp_path / "again")
    assert outcomes(again) == outcomes(first)
    assert not (tmp_path / "again" / "web").exists()


class Curious(DiligentWeb):
    """Asks for something the recorded run never asked for."""

    def reply(self, messages: Any, names: Any) -> Any:
        from tests.agentic.diligent import call

        return call(("search_engine_query", {"keywords": "something else"}))


@pytest.mark.slow
def test_what_was_not_recorded_is_an_error_not_a_wrong_answer(bundled: DataSet, tmp_path: Path) -> None:
    run(bundled, DiligentWeb(), categories=["web_search_base"], settings=Settings(search="record"), out=tmp_path / "a")
    replay = Settings(search=f"replay:{tmp_path / 'a' / 'web'}")
    result = run(bundled, Curious(), categories=["web_search_base"], settings=replay)
    assert {(r["outcome"], r["reason"]) for r in result.records} == {("error", "adapter:not_recorded")}
    assert "something else" in result.records[0]["detail"]["error"]


def test_official_web_search_without_a_provider_is_skipped(official: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERPAPI_API_KEY", raising=False)
    result = run(official, DiligentWeb(), categories=["web_search"])
    assert {r["outcome"] for r in result.records} == {"skipped"}
    assert "SERPAPI_API_KEY" in result.records[0]["detail"]["error"]
    (summary,) = result.summary["models"].values()
    assert summary["categories"]["web_search_base"]["accuracy"] is None


def test_replies_recorded_without_tools_need_no_provider(
    official: DataSet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SERPAPI_API_KEY", raising=False)
    ref = official.index("web_search_base")[0]
    line = {"id": ref.id, "category": ref.category, "output": "I do not know.", "mode": "fc"}
    (tmp_path / "lines.jsonl").write_text(json.dumps(line) + "\n")
    result = run([official.load(ref)], f"replay:{tmp_path / 'lines.jsonl'}")
    assert [(r["outcome"], r["reason"]) for r in result.records] == [("failed", "agentic:answer_not_found")]


def test_every_answer_stands_on_its_last_page(bundled: DataSet) -> None:
    assert bundled.site is not None
    for ref in bundled.index("web_search_base"):
        entry: Any = bundled.load(ref)
        page = bundled.site / entry.answer_source[-1]
        assert stands_in(visible_text(page.read_text(encoding="utf-8")), entry.possible_answer), entry.id
        assert 2 <= entry.num_hops <= 4
        assert all((bundled.site / name).is_file() for name in entry.answer_source)
