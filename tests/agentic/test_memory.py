"""Memory end to end: write stages, snapshots, questions, and what a diligent model can reach."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.failures import AdapterError
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


class Breaking(DiligentMemory):
    """The provider fails in the second write stage of one scenario."""

    async def generate(self, request: Any) -> Any:
        if request.entry.id == "memory_rec_sum_prereq_1-student-1" and request.turn == 1:
            raise AdapterError("server", "status 503", status=503)
        return await super().generate(request)


def test_a_broken_write_stage_makes_its_questions_errors(bundled: DataSet, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run(bundled, Breaking(), categories=["memory_rec_sum"], settings=SETTINGS, out=out)
    outcomes = {r["id"]: (r["outcome"], r["reason"]) for r in result.records}
    for entry_id, (outcome, reason) in outcomes.items():
        broken = "student" in entry_id and entry_id != "memory_rec_sum_prereq_0-student-0"
        assert (outcome, reason) == (("error", "adapter:server") if broken else ("passed", None)), entry_id
    mended = DiligentMemory()
    again = run(bundled, mended, categories=["memory_rec_sum"], settings=SETTINGS, out=out)
    assert again.counts == {"memory_rec_sum": (43, 43)}
    assert all("student" in entry_id for entry_id, *_ in mended.asked)
    assert ("memory_rec_sum_prereq_1-student-1", 1, 0, 0) not in mended.asked, "that reply is in the journal"
