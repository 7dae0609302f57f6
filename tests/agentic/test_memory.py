"""Memory end to end: write stages, snapshots, questions, and what a diligent model can reach."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings
from tests.agentic.diligent import DiligentMemory
from tests.agentic.shares import empty_snapshots, forget_questions, reachable

SETTINGS = Settings(concurrency=8)


@pytest.fixture(params=["kv", pytest.param("vector", marks=pytest.mark.official), "rec_sum"])
def category(request: pytest.FixtureRequest) -> str:
    if request.param == "vector":
        request.getfixturevalue("fetched_weights")
    return f"memory_{request.param}"


@pytest.fixture
def bundled() -> DataSet:
    return open_data("bundled")


def passed(result: Any, category: str) -> set[str]:
    return {r["id"] for r in result.records if r["category"] == category and r["outcome"] == "passed"}


def test_score_is_what_is_possible(bundled: DataSet, category: str, tmp_path: Path) -> None:
    model = DiligentMemory()
    result = run(bundled, model, categories=[category], settings=SETTINGS, out=tmp_path / "run")
    possible = reachable(bundled, category, tmp_path / "run")
    assert passed(result, category) == possible
    assert len(possible) > 0.25 * len(bundled.index(category))
    stages = Counter(r["id"] for r in result.records if r["category"] == f"{category}_prereq")
    assert stages == Counter({ref.id: 1 for ref in bundled.index(f"{category}_prereq")})
    assert not any(count > 1 for count in Counter(model.asked).values())
    (summary,) = result.summary["models"].values()
    assert list(summary["categories"]) == [category]
    assert sum(summary["write_stages"].values()) == len(stages)


@pytest.mark.slow
def test_official_score_is_what_is_possible(official: DataSet, category: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run(official, DiligentMemory(), categories=[category], settings=SETTINGS, out=out)
    possible = reachable(official, category, out)
    assert passed(result, category) == possible
    assert len(possible) > 0.25 * 155
    empty_snapshots(out)
    forget_questions(out)
    after = run(official, DiligentMemory(), categories=[category], settings=SETTINGS, out=out)
    assert len(passed(after, category)) < 0.05 * 155


def test_lost_snapshots_are_our_trouble(bundled: DataSet, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(bundled, DiligentMemory(), categories=["memory_kv"], settings=SETTINGS, out=out)
    forget_questions(out)
    for path in (out / "snapshots").rglob("*.json"):
        path.unlink()
    result = run(bundled, DiligentMemory(), categories=["memory_kv"], settings=SETTINGS, out=out)
    reasons = Counter(r["reason"] for r in result.records if r["category"] == "memory_kv")
    assert reasons == {"harness:write_stage": 43}
