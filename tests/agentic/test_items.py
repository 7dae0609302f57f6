"""Memory and web search as pytest items: write stages pulled in, run once, in one worker; skips."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.vector_memory import embedding
from tests.agentic import diligent
from tests.distributed import WORKERS

CONFTEST = """
import pytest
from diligent import DiligentMemory

@pytest.fixture(scope="session")
def model():
    return DiligentMemory()
"""


class Bench:
    """A project whose model is a diligent one, or none of its own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\npythonpath = .\n")

    def bring(self) -> None:
        shutil.copy(Path(diligent.__file__), self.path / "diligent.py")
        self.pytester.makeconftest(CONFTEST)

    def run(self, *args: str, model: str = "own:diligent-memory@fc") -> pytest.RunResult:
        command = ("--model", model, "--bfcl-data", "bundled", "--bfcl-out", "run", "-p", "no:cacheprovider")
        return self.pytester.runpytest_inprocess(*command, *args)

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.path / "run" / "results.jsonl").read_text().splitlines()]

    def requests(self) -> Counter[tuple[Any, ...]]:
        """How often each request was sent to the model, over all processes."""
        lines = [
            json.loads(line)
            for path in (self.path / "run" / "journal").glob("*.jsonl")
            for line in path.read_text().splitlines()
        ]
        assert lines
        return Counter((line["id"], line["repeat"], line["turn"], line["step"]) for line in lines)


@pytest.fixture
def bench(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("SERPAPI_API_KEY", raising=False)
    return Bench(pytester)


@pytest.mark.slow
@pytest.mark.parametrize("workers", WORKERS)
def test_every_write_stage_once(bench: Bench, workers: tuple[str, ...]) -> None:
    bench.bring()
    result = bench.run("--bfcl-categories", "memory_kv,memory_rec_sum", *workers)
    result.assert_outcomes(passed=2 * (43 + 12))
    records = bench.records()
    assert all(count == 1 for count in Counter(record["id"] for record in records).values())
    assert all(count == 1 for count in bench.requests().values()), "nothing was asked twice"
    together: dict[tuple[str, str], set[Any]] = {}
    for record in records:
        backend = record["category"].removesuffix("_prereq")
        together.setdefault((backend, record["id"].split("-")[1]), set()).add(record["worker"])
    assert len(together) == 10
    assert all(len(processes) == 1 for processes in together.values())
    if workers:
        assert {process for processes in together.values() for process in processes} == {"gw0", "gw1"}


def test_one_question_pulls_in_just_its_stages(bench: Bench) -> None:
    bench.bring()
    question = "memory_kv_20-finance-1"
    result = bench.run("-k", question, "-v", "--bfcl-categories", "memory")
    wanted = [record["id"] for record in bench.records()]
    assert wanted[-1].split("-")[1] == "finance"
    assert [entry_id for entry_id in wanted if "_prereq_" in entry_id] == wanted[:-1]
    assert len(wanted) == 3
    result.assert_outcomes(passed=3)
    again = bench.run("-k", "finance", "--bfcl-categories", "memory_kv")
    again.assert_outcomes(passed=7)  # eight questions, one of them done, and no write stage again
    summary = json.loads((bench.path / "run" / "summary.json").read_text())
    (model,) = summary["models"].values()
    assert model["categories"]["memory_kv"]["total"] == 8


def test_without_weights_the_vector_memory_is_skipped(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "weights_folder", lambda: None)
    monkeypatch.setattr(embedding, "find_spec", lambda name: None)
    result = bench.run("--bfcl-categories", "memory_vector", "-rs", model="oracle:")
    result.assert_outcomes(skipped=43 + 12)  # the write stages too
    result.stdout.fnmatch_lines(["*pip install ?pytest-bfcl?embeddings?? && pytest-bfcl fetch --embeddings*"])
