"""Which provider a run gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError
from pytest_bfcl.providers import check_choice, open_search, search_problem
from pytest_bfcl.providers.local_site import LocalSite
from pytest_bfcl.providers.recorded import RecordedSearch


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERPAPI_API_KEY", raising=False)


def test_own_data_has_its_site(tmp_path: Path) -> None:
    assert isinstance(open_search("auto", official=False, site=tmp_path), LocalSite)
    assert isinstance(open_search("auto", official=False, site=tmp_path, archive=tmp_path / "web"), LocalSite)
    recording = open_search("record", official=False, site=tmp_path, archive=tmp_path / "web")
    assert isinstance(recording, RecordedSearch)
    assert "web/" in str(search_problem("local", official=False))


def test_official_data_needs_the_real_web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "SERPAPI_API_KEY" in str(search_problem("auto", official=True))
    assert "SERPAPI_API_KEY" in str(search_problem("auto", official=False, site=None))
    with pytest.raises(UsageError, match="SERPAPI_API_KEY"):
        open_search("auto", official=True, site=tmp_path)
    monkeypatch.setenv("SERPAPI_API_KEY", "k")
    assert isinstance(open_search("auto", official=True), entry_points.require("searches", "serpapi", "SerpApi"))
    archived = open_search("serpapi", official=True, archive=tmp_path / "web")
    assert isinstance(archived, RecordedSearch), "live searches cost money: they are always kept"
    assert not (tmp_path / "web").exists()


def test_replaying(tmp_path: Path) -> None:
    assert "nothing to replay" in str(search_problem("replay", official=True, archive=tmp_path / "web"))
    assert "nothing to replay" in str(search_problem("replay", official=True))
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "main.jsonl").write_text("")
    for choice in ("replay", f"replay:{tmp_path}", f"replay:{tmp_path / 'web'}"):
        assert search_problem(choice, official=True, archive=tmp_path / "web") is None
        assert isinstance(open_search(choice, official=True, archive=tmp_path / "web"), RecordedSearch)


@pytest.mark.parametrize("word", ["google", "replay:", "local:x", ""])
def test_unknown_words(word: str) -> None:
    with pytest.raises(ValueError, match="replay:RUN"):
        check_choice(word)
