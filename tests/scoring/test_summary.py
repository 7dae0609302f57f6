from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.scoring.statistics import wilson
from pytest_bfcl.scoring.summary import Robustness, plain_records, sizes_of, summarise
from pytest_bfcl.scoring.tally import is_answered
from tests.scoring.golden import Golden
from tests.scoring.samples import OFFICIAL, SPEC, all_categories, line, lines, saved

CATEGORY_FIELDS = {
    "total", "passed", "failed", "errors", "skipped", "accuracy", "interval95", "corrected_accuracy",
    "accuracy_without_known_issues",
}  # fmt: skip
MODEL_FIELDS = {
    "categories", "groups", "overall", "overall_v3", "failure_counts", "reasons", "hallucination", "breakdown",
    "cost_usd", "latency", "tokens",
}  # fmt: skip


def model(records: Any, **options: Any) -> dict[str, Any]:
    options.setdefault("fingerprint", OFFICIAL)
    options.setdefault("full_sizes", {})
    found: dict[str, Any] = summarise(records, **options)["models"][SPEC]
    return found


def test_the_fields_of_the_contract_are_there() -> None:
    summary = summarise(lines(all_categories()), fingerprint=OFFICIAL)
    assert set(summary) >= {"fingerprint", "models", "gate"}
    assert summary["gate"] == {"verdict": "none", "checks": []}
    numbers = summary["models"][SPEC]
    assert set(numbers) >= MODEL_FIELDS
    assert set(numbers["categories"]["simple_python"]) >= CATEGORY_FIELDS
    assert set(numbers["groups"]["multi_turn"]) >= CATEGORY_FIELDS
    assert set(numbers["overall"]) >= {"value", "complete", "missing", "interval95"}
    assert set(numbers["latency"]) == {"mean", "std", "p95"}
    json.dumps(summary, allow_nan=False)
    assert summarise([])["models"] == {}


@pytest.mark.parametrize(
    ("fields", "answered"),
    [
        ({"outcome": "passed"}, True),
        ({"outcome": "failed"}, True),
        ({"outcome": "failed", "reason": "reply:length"}, False),
        ({"outcome": "failed", "reason": "reply:length", "output": "x"}, True),
        ({"outcome": "failed", "reason": None, "output": ""}, True),
        ({"outcome": "error", "output": "x"}, False),
        ({}, False),
    ],
)
def test_what_an_answer_is(fields: Any, answered: bool) -> None:
    assert is_answered(fields) is answered


@pytest.mark.parametrize(
    ("transforms", "kept"), [({"wording": ""}, ["a", "c~shuffled"]), (None, ["a", "b~wording", "c~shuffled"])]
)
def test_transformed_entries_are_no_part_of_a_score(
    tmp_path: Path, transforms: dict[str, str] | None, kept: list[str]
) -> None:
    records = [line(name, "simple_python") for name in ("a", "b~wording", "c~shuffled")]
    run = RunDirectory.open(Path(saved(tmp_path / "run", records, conditions={"transforms": transforms})))
    assert [each["id"] for each in plain_records(run)] == kept


def test_pairs_of_an_entry_and_its_transform() -> None:
    found = Robustness(frozenset({"wording", "order", "case"}))
    lines: Any = [{"id": "a", "outcome": "passed"}, {"id": "a", "outcome": "failed", "repeat": 2},
                  *({"id": f"{name}~wording", "category": "parallel", "outcome": "failed", "repeat": repeat}
                    for name, repeat in (("a", 1), ("a", 2), ("b", 1))),
                  {"id": "c~wording", "outcome": "error"}, {"id": "d~other", "outcome": "passed"},
                  {"id": "a~order", "outcome": "passed"}, {"id": "c~case", "outcome": "error"}]  # fmt: skip
    assert [found.add(each) for each in lines] == [False, False, True, True, True, True, False, True, True]
    assert [found.to_dict()["case"][each] for each in ("accuracy", "transformed", "errors")] == [None, None, 1]
    assert found.to_dict()["order"]["errors"] == 0
    cell = found.to_dict()["wording"]
    assert (cell["pairs"], cell["accuracy"], cell["transformed"], cell["errors"]) == (2, 0.5, 0.0, 1)


def test_own_data_have_the_sizes_of_their_files() -> None:
    data = open_dataset("bundled")
    assert sizes_of(data) == {name: len(data.index(name)) for name in data.categories() if CATEGORIES[name].scored}


OUTCOMES = ["passed"] * 3 + ["failed"] + ["error"] * 5 + ["skipped"] * 2
LIVE = {"live_simple": (4, 4), "live_multiple": (0, 4), "live_parallel": (0, 4), "live_parallel_multiple": (0, 4)}
ISSUES = [SimpleNamespace(id="parallel_3", modes=("fc",)), SimpleNamespace(id="parallel_2", modes=("prompt",))]
SPENT = {"cost_usd": 0.25, "input_tokens": [[10, 5]], "output_tokens": [[1, 0]], "latency_s": [[7.0, 9.0]]}
QUIET = {"quiet_turns": 2, "quiet_turns_with_calls": 1}
PARALLEL, IRRELEVANCE = "categories.parallel", "categories.irrelevance"
FIGURES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "errors and skipped entries never enter accuracy": (
        [line(f"parallel_{n}", "parallel", outcome) for n, outcome in enumerate(OUTCOMES)],
        {f"{PARALLEL}.total": 11, f"{PARALLEL}.passed": 3, f"{PARALLEL}.failed": 1, f"{PARALLEL}.errors": 5,
         f"{PARALLEL}.skipped": 2, f"{PARALLEL}.accuracy": 0.75, f"{PARALLEL}.interval95": list(wilson(3, 4)),
         "failure_counts": {"ADAPTER_ERROR": 5, "WRONG_ANSWER": 1},
         "reasons": {"adapter:timeout": 5, "value_error:string": 1}},
    ),
    "errors alone have no accuracy": (
        [line("parallel_1", "parallel", "error")], {f"{PARALLEL}.accuracy": None, f"{PARALLEL}.interval95": None},
    ),
    "live is weighted by the sizes of the data": (list(lines(LIVE)), {"groups.live.accuracy": 258 / 1351}),
    "known issues are a third line, by mode": (
        list(lines({"parallel": (3, 4)})),
        {f"{PARALLEL}.accuracy": 0.75, f"{PARALLEL}.accuracy_without_known_issues": 1.0, f"{PARALLEL}.known_issues": 1},
    ),
    "corrected verdicts have their own line and rule counts": (
        [line("parallel_1", "parallel", "failed", corrected_outcome="passed", corrected_rules=["C7"]),
         line("parallel_2", "parallel", "failed", corrected_outcome="passed", corrected_rules=["C10", "C2"]),
         line("parallel_3", "parallel", "passed", corrected_outcome="failed", corrected_rules=["C2"]),
         line("irrelevance_1", "irrelevance", "passed", corrected_outcome="error", corrected_rules=["C8"])],
        {f"{PARALLEL}.accuracy": 1 / 3, f"{PARALLEL}.corrected_accuracy": 2 / 3,
         f"{IRRELEVANCE}.corrected_accuracy": None, "corrected_rules": {"C2": 2, "C7": 1, "C8": 1, "C10": 1}},
    ),
    "the headline follows the run's rules, the official one stays": (
        [line("parallel_1", "parallel", "passed", official_outcome="failed", rules="corrected")],
        {f"{PARALLEL}.accuracy": 1.0, f"{PARALLEL}.official_accuracy": 0.0, f"{PARALLEL}.corrected_accuracy": 1.0},
    ),
    "hallucination is the share of quiet turns with calls": (
        [line("irrelevance_1", "irrelevance", "failed"), line("irrelevance_2", "irrelevance"),
         line("live_irrelevance_0-0-0", "live_irrelevance", "error"),
         line("multi_turn_miss_func_1", "multi_turn_miss_func", "failed", extra=QUIET),
         line("multi_turn_base_1", "multi_turn_base", "failed", extra=QUIET)],
        {"hallucination": {"turns": 4, "with_call": 2, "share": 0.5,
                           "categories": {"irrelevance": 0.5, "multi_turn_miss_func": 0.5}}},
    ),
    "a conversation without a quiet turn says nothing of them": (
        [line("multi_turn_miss_func_1", "multi_turn_miss_func", extra={"quiet_turns": 0})],
        {"hallucination": {"turns": 0, "with_call": 0, "share": None, "categories": {}}},
    ),
    "quiet turns without a call are counted": (
        [line("multi_turn_miss_func_1", "multi_turn_miss_func", extra={"quiet_turns": 2})],
        {"hallucination.turns": 2, "hallucination.with_call": 0},
    ),
    "without quiet turns there is no share, without a price no cost": (
        [line("parallel_1", "parallel", cost_usd=None)], {"hallucination.share": None, "cost_usd": None},
    ),
    "write stages cost money and are no category": (
        [line("memory_kv_prereq_0-customer-0", "memory_kv_prereq", **SPENT), line("parallel_1", "parallel")],
        {"categories.memory_kv_prereq": None, "cost_usd": 0.25, "unpriced": 1, "tokens": {"input": 15, "output": 1},
         "latency.mean": None, "write_stages": {"passed": 1}},
    ),
    "latency is per request": (
        [line("multi_turn_base_1", "multi_turn_base", latency_s=[[1, 2], [3, 0]]),
         line("parallel_1", "parallel", latency_s=4)],
        {"latency": {"mean": 2.5, "std": 1.291, "p95": 3.85}},
    ),
    "an unknown category is one": ([line("x_1", "x")], {"categories.x.accuracy": 1.0}),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str) -> None:
    records, wanted = FIGURES[name]
    numbers = model(records, known_issues=ISSUES, full_sizes=None)
    for path, value in wanted.items():
        found: Any = numbers
        for part in path.split("."):
            found = found.get(part)
        assert found == (pytest.approx(value) if isinstance(value, float) else value), path
    if "corrected_rules" in wanted:
        assert list(numbers["corrected_rules"]) == ["C2", "C7", "C8", "C10"]


def test_missing_categories_are_named_and_not_zero() -> None:
    numbers = model(lines({"simple_python": (8, 10), "live_simple": (5, 10)}))
    assert numbers["overall"]["value"] is None
    assert not numbers["overall"]["complete"]
    assert "multi_turn_base" in numbers["overall"]["missing"]
    assert "live_relevance" not in numbers["overall"]["missing"]
    non_live = numbers["groups"]["non_live"]
    assert non_live["accuracy"] == 0.8
    assert non_live["missing"] == ["simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"]
    assert "multi_turn" not in numbers["groups"]


def test_a_sample_says_so_and_tells_both_intervals() -> None:
    overall = model(lines(all_categories()), full_sizes=dict.fromkeys(all_categories(), 6))["overall"]
    assert overall["sampled"]
    low, high = overall["interval95"]
    inner_low, inner_high = overall["interval95_full_set"]
    assert low < inner_low < overall["value"] < inner_high < high
    assert "sampled" not in model(lines(all_categories()), full_sizes=dict.fromkeys(all_categories(), 4))["overall"]


def test_models_and_modes_are_kept_apart_in_the_order_of_the_fingerprint() -> None:
    records = [
        line("parallel_1", "parallel", model="b"),
        line("parallel_1", "parallel", "failed", model="a", mode="prompt"),
        line("parallel_1", "parallel", model="a"),
        line("parallel_1", "parallel", model="c"),
    ]
    fingerprint = {"models": [{"model": "c"}, {"model": "b"}]}
    found = summarise(records, fingerprint=fingerprint)["models"]
    assert list(found) == ["c", "b", "a (fc)", "a (prompt)"]


def test_a_summary_needs_no_scipy() -> None:
    code = (
        "import sys\nfrom pytest_bfcl.scoring.summary import summarise\nfrom tests.scoring.samples import lines\n"
        "summarise(lines({'parallel': (9, 12), 'irrelevance': (5, 9), 'memory_kv': (30, 60)}))\n"
        "assert not {'scipy', 'numpy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.golden
@pytest.mark.slow
@pytest.mark.parametrize(("name", "percent"), [("strong", 69.23), ("middle", 54.42), ("weak", 34.85)])
def test_overall_of_recorded_runs_is_the_references(golden: Golden, name: str, percent: float) -> None:
    summary = summarise(golden.records(name), fingerprint={"dataset": {"name": "official"}})
    overall = summary["models"][name]["overall"]
    assert round(overall["value"] * 100, 2) == percent
    assert overall["complete"]
    assert "sampled" not in overall
